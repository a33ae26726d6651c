import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import JobEngine
import RecordStore
import SQLite
import TestSupport
import Testing

@testable import Push

/// The memory in a real file, and in a real database.
@Suite struct PushMemoryTests {
  private static let log = Logger(label: "test", sink: MemorySink())
  private let now = Sample.now
  private let token = Array(repeating: UInt8(7), count: 32)
  private let clock = ManualMonotonicClock()

  private func withMemory(
    _ kind: TableKind, _ body: (PushMemory, () async throws -> PushMemory) async throws -> Void
  ) async throws {
    try await kind.with(.workers, of: .pushMemory) { open in
      let memory = {
        PushMemory(try await open(), environmentLife: .seconds(24 * 3600), logger: Self.log, clock: clock)
      }
      let first = try await memory()
      do { try await body(first, memory) } catch {
        await first.close()
        throw error
      }
      await first.close()
    }
  }

  private let accepted = AssessmentVerdict(
    .accepted(reference: "projects/p/assessments/1", extras: ["score": 0.9, "tollFraudRisk": 0.1, "action": "a"]))
  private let refused = AssessmentVerdict(
    .refused(Reason("CAPTCHA_EXPIRED", "d", providerCode: "EXPIRED"), extras: ["score": 0.0]))

  @Test(arguments: TableKind.allCases)
  func `Environments are remembered across restarts`(_ kind: TableKind) async throws {
    try await withMemory(kind) { memory, open in
      #expect(await memory.environment(of: Sample.deviceToken, app: "a") == nil)
      await memory.remember(.sandbox, of: Sample.deviceToken, app: "a", at: now)
      #expect(await memory.environment(of: Sample.deviceToken, app: "b") == nil)
      await memory.remember(.production, of: Sample.deviceToken, app: "b", at: now)
      let other = try await open()
      #expect(await other.environment(of: Sample.deviceToken, app: "a") == .sandbox)
      #expect(await other.environment(of: Sample.deviceToken, app: "b") == .production)
      await other.remember(.production, of: Sample.deviceToken, app: "a", at: now)
      #expect(await memory.environment(of: Sample.deviceToken, app: "a") == .production)
      await other.close()
    }
  }

  @Test(arguments: TableKind.allCases)
  func `Old environments are forgotten`(_ kind: TableKind) async throws {
    try await withMemory(kind) { memory, _ in
      await memory.remember(.sandbox, of: "00", app: "a", at: now)
      clock.advance(by: PushMemory.purgeInterval)
      await memory.remember(.sandbox, of: "01", app: "a", at: now + .seconds(24 * 3600 + 1))
      #expect(await memory.environment(of: "00", app: "a") == nil)
      #expect(await memory.environment(of: "01", app: "a") == .sandbox)
    }
  }

  @Test func `Device tokens are not in the file`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory + "/memory.sqlite"
      let table = try await RecordTable.open(path: path, of: .pushMemory)
      let memory = PushMemory(table, environmentLife: .seconds(24 * 3600), logger: Self.log, clock: clock)
      await memory.remember(.sandbox, of: Sample.deviceToken, app: "a", at: now)
      await memory.close()
      let bytes = try Data(contentsOf: URL(filePath: path))
      #expect(bytes.firstRange(of: Data(Sample.deviceToken.utf8)) == nil)
    }
  }

  @Test func `A verdict of one host is found on another, and its token passes nowhere else`() async throws {
    try await withMemory(.postgresql) { memory, open in
      let other = try await open()
      #expect(try await memory.begin(token, jobID: "1\0", now: now) == .fresh)
      #expect(try await other.begin(token, jobID: "1\0", now: now) == .uncertain)
      let verdict = try #require(accepted)
      try await memory.record(verdict, of: token, jobID: "1\0", now: now)
      #expect(try await other.begin(token, jobID: "1\0", now: now) == .assessed(verdict))
      #expect(try await other.begin(token, jobID: "2", now: now) == .spent)
      await other.close()
    }
  }

  @Test(arguments: TableKind.allCases)
  func `A token belongs to the job that took it`(_ kind: TableKind) async throws {
    try await withMemory(kind) { memory, _ in
      #expect(try await memory.begin(token, jobID: "1", now: now) == .fresh)
      #expect(try await memory.begin(token, jobID: "1", now: now) == .uncertain)
      #expect(try await memory.begin(token, jobID: "2", now: now) == .spent)
      #expect(try await memory.verdict(of: token, jobID: "1") == nil)
      let verdict = try #require(accepted)
      try await memory.record(verdict, of: token, jobID: "2", now: now)
      #expect(try await memory.begin(token, jobID: "1", now: now) == .uncertain)
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

  @Test(arguments: TableKind.allCases)
  func `Unassessed tokens are released`(_ kind: TableKind) async throws {
    try await withMemory(kind) { memory, _ in
      _ = try await memory.begin(token, jobID: "1", now: now)
      try await memory.release(token, jobID: "2")
      #expect(try await memory.begin(token, jobID: "2", now: now) == .spent)
      try await memory.release(token, jobID: "1")
      #expect(try await memory.begin(token, jobID: "2", now: now) == .fresh)
    }
  }

  @Test(arguments: TableKind.allCases)
  func `Old assessments are forgotten`(_ kind: TableKind) async throws {
    try await withMemory(kind) { memory, _ in
      _ = try await memory.begin(token, jobID: "1", now: now)
      #expect(try await memory.begin(token, jobID: "2", now: now + PushMemory.assessmentLife) == .spent)
      clock.advance(by: PushMemory.purgeInterval)
      #expect(try await memory.begin(token, jobID: "2", now: now + PushMemory.assessmentLife + .seconds(700)) == .fresh)
    }
  }

  @Test(arguments: TableKind.allCases)
  func `The next purge is due at once where the limit of rows went`(_ kind: TableKind) async throws {
    try await kind.with(.workers, of: .pushMemory) { open in
      let (table, assessments) = (try await open(), RecordKind("assessment"))
      let records = (0...TableAge.maxRows).map { number in
        TableRecord(assessments, Array("\(number)".utf8), writtenAt: now + .milliseconds(number))
      }
      for first in stride(from: 0, to: records.count, by: 500) {
        try await table.change(writing: Array(records[first..<min(first + 500, records.count)]))
      }
      let memory = PushMemory(table, environmentLife: .seconds(24 * 3600), logger: Self.log, clock: clock)
      for left in [1, 0] {
        _ = try await memory.begin(token, jobID: "1", now: now + PushMemory.assessmentLife + .seconds(60))
        #expect(try await table.find(assessments, [records[TableAge.maxRows].key]).count == left)
      }
      await memory.close()
    }
  }

  @Test func `Verdicts come back whole`() throws {
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

  @Test(arguments: TableKind.allCases)
  func `A memory that is closed says so`(_ kind: TableKind) async throws {
    try await withMemory(kind) { memory, _ in
      await memory.close()
      await #expect(throws: StoreError.self) { try await memory.begin(token, jobID: "1", now: now) }
      #expect(await memory.environment(of: "00", app: "a") == nil)
    }
  }
}
