import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import JobEngine
import Testing

@testable import Push

/// The memory in a real file.
@Suite struct PushMemoryTests {
  private static let log = Logger(label: "test", sink: MemorySink())
  private let now = Sample.now
  private let token = Array(repeating: UInt8(7), count: 32)

  private func withMemory(_ body: (PushMemory, String) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.path + "/push-memory-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    let path = directory + "/memory.sqlite"
    let memory = try await open(path)
    do { try await body(memory, path) } catch {
      await memory.close()
      throw error
    }
    await memory.close()
    try FileManager.default.removeItem(atPath: directory)
  }

  private let clock = ManualMonotonicClock()

  private func open(_ path: String) async throws -> PushMemory {
    try await PushMemory.open(path: path, environmentLife: .seconds(24 * 3600), logger: Self.log, clock: clock)
  }

  private let accepted = AssessmentVerdict(
    .accepted(reference: "projects/p/assessments/1", extras: ["score": 0.9, "tollFraudRisk": 0.1, "action": "a"]))
  private let refused = AssessmentVerdict(
    .refused(Reason("CAPTCHA_EXPIRED", "d", providerCode: "EXPIRED"), extras: ["score": 0.0]))

  @Test("Environments are remembered across restarts") func environmentsAreRememberedAcrossRestarts() async throws {
    try await withMemory { memory, path in
      #expect(await memory.environment(of: Sample.deviceToken, app: "a") == nil)
      await memory.remember(.sandbox, of: Sample.deviceToken, app: "a", at: now)
      #expect(await memory.environment(of: Sample.deviceToken, app: "b") == nil)
      await memory.remember(.production, of: Sample.deviceToken, app: "b", at: now)
      let other = try await open(path)
      #expect(await other.environment(of: Sample.deviceToken, app: "a") == .sandbox)
      #expect(await other.environment(of: Sample.deviceToken, app: "b") == .production)
      await other.remember(.production, of: Sample.deviceToken, app: "a", at: now)
      #expect(await memory.environment(of: Sample.deviceToken, app: "a") == .production)
      await other.close()
    }
  }

  @Test("Old environments are forgotten") func oldEnvironmentsAreForgotten() async throws {
    try await withMemory { memory, _ in
      await memory.remember(.sandbox, of: "00", app: "a", at: now)
      clock.advance(by: PushMemory.purgeInterval)
      await memory.remember(.sandbox, of: "01", app: "a", at: now + .seconds(24 * 3600 + 1))
      #expect(await memory.environment(of: "00", app: "a") == nil)
      #expect(await memory.environment(of: "01", app: "a") == .sandbox)
    }
  }

  @Test("Device tokens are not in the file") func deviceTokensAreNotInTheFile() async throws {
    try await withMemory { memory, path in
      await memory.remember(.sandbox, of: Sample.deviceToken, app: "a", at: now)
      await memory.close()
      let bytes = try Data(contentsOf: URL(filePath: path))
      #expect(bytes.firstRange(of: Data(Sample.deviceToken.utf8)) == nil)
    }
  }

  @Test("A token belongs to the job that took it") func aTokenBelongsToTheJobThatTookIt() async throws {
    try await withMemory { memory, _ in
      #expect(try await memory.begin(token, jobID: "1", now: now) == .fresh)
      #expect(try await memory.begin(token, jobID: "1", now: now) == .uncertain)
      #expect(try await memory.begin(token, jobID: "2", now: now) == .spent)
      #expect(try await memory.verdict(of: token, jobID: "1") == nil)
      let verdict = try #require(accepted)
      try await memory.record(verdict, of: token, jobID: "1", now: now)
      #expect(try await memory.begin(token, jobID: "1", now: now) == .assessed(verdict))
      #expect(try await memory.verdict(of: token, jobID: "1") == verdict)
      #expect(try await memory.begin(token, jobID: "2", now: now) == .spent)
      #expect(try await memory.verdict(of: token, jobID: "2") == nil)
      // A verdict is not given back.
      try await memory.release(token, jobID: "1")
      #expect(try await memory.begin(token, jobID: "2", now: now) == .spent)
    }
  }

  @Test("Unassessed tokens are released") func unassessedTokensAreReleased() async throws {
    try await withMemory { memory, _ in
      _ = try await memory.begin(token, jobID: "1", now: now)
      try await memory.release(token, jobID: "2")
      #expect(try await memory.begin(token, jobID: "2", now: now) == .spent)
      try await memory.release(token, jobID: "1")
      #expect(try await memory.begin(token, jobID: "2", now: now) == .fresh)
    }
  }

  @Test("Old assessments are forgotten") func oldAssessmentsAreForgotten() async throws {
    try await withMemory { memory, _ in
      _ = try await memory.begin(token, jobID: "1", now: now)
      #expect(try await memory.begin(token, jobID: "2", now: now + PushMemory.assessmentLife) == .spent)
      clock.advance(by: PushMemory.purgeInterval)
      #expect(try await memory.begin(token, jobID: "2", now: now + PushMemory.assessmentLife + .seconds(700)) == .fresh)
    }
  }

  @Test("Verdicts come back whole") func verdictsComeBackWhole() throws {
    for verdict in [try #require(accepted), try #require(refused)] {
      let copy = try #require(AssessmentVerdict(json: verdict.json()))
      #expect(copy == verdict)
      #expect(copy.classification == verdict.classification)
    }
    #expect(accepted?.classification.extras == ["score": 0.9, "tollFraudRisk": 0.1, "action": "a"])
    #expect(refused?.classification.reason?.providerCode == "EXPIRED")
    #expect(AssessmentVerdict(.retry(Reason("R", "d"))) == nil)
    #expect(AssessmentVerdict(.unknown(Reason("R", "d"))) == nil)
    #expect(AssessmentVerdict(json: []) == nil)
    #expect(AssessmentVerdict(json: Array(repeating: UInt8(ascii: "["), count: 513)) == nil)
  }

  @Test("A memory that is closed says so") func aMemoryThatIsClosedSaysSo() async throws {
    try await withMemory { memory, _ in
      await memory.close()
      await #expect(throws: AssessmentMemoryError.self) { try await memory.begin(token, jobID: "1", now: now) }
      #expect(await memory.environment(of: "00", app: "a") == nil)
    }
  }
}
