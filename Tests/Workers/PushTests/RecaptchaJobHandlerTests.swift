import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import JobEngine
import Synchronization
import TestSupport
import Testing

@testable import Push

/// Gives answers in order, the last one forever.
private final class FakeLane: ProviderLane {
  let name = "r"
  private let answers: [AssessmentAnswer]
  private let count = Mutex(0)

  private let table: ProviderTable

  init(_ answers: AssessmentAnswer...) throws(WorkerError) {
    self.answers = answers
    table = try Sample.recaptchaTable()
  }

  var calls: Int { count.withLock { $0 } }

  func send(_ call: AssessmentCall, _ attempt: JobAttempt) async -> Classification {
    let number = count.withLock { count in
      count += 1
      return count
    }
    switch answers[min(number, answers.count) - 1] {
    case .assessed(let assessment): return call.judge(assessment, table)
    case .failed(let classification): return classification
    }
  }
}

@Suite struct RecaptchaJobHandlerTests {
  private let file: MemoryFile
  private let log = Logger(label: "test", sink: MemorySink())
  private let good = AssessmentAnswer.assessed(RecaptchaAssessment(action: "a", score: 0.9, bundleID: Sample.app))
  private let duplicate = AssessmentAnswer.assessed(RecaptchaAssessment(invalidReason: "DUPE"))
  private let lost = AssessmentAnswer.failed(.unknown(Reason("NO_ANSWER", "d")))
  private let throttled = AssessmentAnswer.failed(.retry(Reason("PROVIDER_THROTTLED", "d")))
  private var memory: PushMemory { file.memory }

  init() async throws {
    file = try await MemoryFile()
  }

  private func handler(_ lane: FakeLane, keys: KeyRing? = nil) throws -> RecaptchaJobHandler {
    RecaptchaJobHandler(
      apps: [
        Sample.app: RecaptchaApp(lane: "r", siteKey: "k", rules: AssessmentRules(bundleID: Sample.app))
      ], lanes: [lane], keys: try keys ?? KeyRing(sealing: nil), memory: memory,
      logger: log)
  }

  private func request() throws -> AssessmentRequest {
    AssessmentRequest(
      app: Sample.app, token: try #require(RecaptchaToken(Secret("t"), app: Sample.app)), expectedAction: "a", ip: nil,
      userAgent: nil, phoneNumber: nil)
  }

  private func perform(_ handler: RecaptchaJobHandler, _ jobID: String = "1") async throws -> String {
    await handler.perform(try request(), on: "r", Sample.attempt(jobID)).short
  }

  @Test func `A token counts once`() async throws {
    let lane = try FakeLane(good, duplicate)
    let handler = try handler(lane)
    #expect(try await perform(handler) == "accepted -")
    #expect(try await memory.verdict(of: request().token.hash, jobID: "1") != nil)
    // The same job again gets its verdict, another one does not, and neither asks reCAPTCHA.
    #expect(try await perform(handler) == "accepted -")
    #expect(try await perform(handler, "2") == "refused CAPTCHA_DUPLICATE")
    #expect(lane.calls == 1)
  }

  @Test func `A refusal is recorded too`() async throws {
    let handler = try handler(
      FakeLane(.assessed(RecaptchaAssessment(action: "a", score: 0.1, bundleID: Sample.app)), good))
    #expect(try await perform(handler) == "refused CAPTCHA_SCORE_TOO_LOW")
    #expect(try await perform(handler) == "refused CAPTCHA_SCORE_TOO_LOW")
    #expect(await handler.lookUp(try request(), on: "r", Sample.attempt("1"))?.short == "refused CAPTCHA_SCORE_TOO_LOW")
    #expect(await handler.lookUp(try request(), on: "r", Sample.attempt("2")) == nil)
  }

  @Test func `A somebody elses duplicate is refused`() async throws {
    #expect(try await perform(try handler(FakeLane(duplicate))) == "refused CAPTCHA_DUPLICATE")
  }

  @Test func `Unassessed tokens may be assessed later`() async throws {
    let handler = try handler(FakeLane(throttled, good))
    #expect(try await perform(handler) == "retry PROVIDER_THROTTLED")
    #expect(try await memory.begin(request().token.hash, jobID: "2", now: Sample.now) == .fresh)
    try await memory.release(request().token.hash, jobID: "2")
    #expect(try await perform(handler) == "accepted -")
  }

  /// The answer was lost, and reCAPTCHA then says "duplicate" to ourselves: the user has done nothing wrong.
  @Test func `A lost answer is no duplicate`() async throws {
    let handler = try handler(FakeLane(lost, duplicate))
    #expect(try await perform(handler) == "unknown NO_ANSWER")
    #expect(try await memory.begin(request().token.hash, jobID: "2", now: Sample.now) == .spent)
    #expect(try await perform(handler) == "lost ASSESSMENT_LOST")
    #expect(try await perform(handler, "2") == "refused CAPTCHA_DUPLICATE")
  }

  @Test func `A request that was lost on its way is assessed the next time`() async throws {
    let handler = try handler(FakeLane(lost, throttled, good))
    #expect(try await perform(handler) == "unknown NO_ANSWER")
    #expect(try await perform(handler) == "retry PROVIDER_THROTTLED")
    // The first call may still have used it up, so the token stays the job's.
    #expect(try await memory.begin(request().token.hash, jobID: "2", now: Sample.now) == .spent)
    #expect(try await perform(handler) == "accepted -")
  }

  @Test func `Without memory nothing is assessed`() async throws {
    let lane = try FakeLane(good)
    await memory.close()
    let handler = try handler(lane)
    #expect(try await perform(handler) == "retry MEMORY_UNAVAILABLE")
    #expect(lane.calls == 0)
    #expect(await handler.lookUp(try request(), on: "r", Sample.attempt("1")) == nil)
  }

  @Test func `An assessment job is prepared`() throws {
    let ring = try KeyRing(sealing: SymmetricKey(id: "k", bytes: Array(0..<32)))
    let handler = try handler(FakeLane(good), keys: ring)
    let message = JobMessage(messageID: "1", messageType: RecaptchaAssessJob.type, receivedAt: Sample.now)
    func prepare(app: String = Sample.app, token: String = "t", recipient: String? = nil) throws -> String {
      var field = SecretField(Secret(token))
      if let recipient {
        let context = SealContext(messageType: RecaptchaAssessJob.type, messageID: "1", recipient: recipient)
        field = try Sealer(keys: ring).seal(Secret(token), for: context)
      }
      let job = RecaptchaAssessJob(app: app, token: field, expectedAction: "a", deadline: Sample.deadline)
      switch handler.prepare(job, of: message) {
      case .ready(let prepared, let facts):
        #expect(facts.lanes == ["r"])
        #expect(facts.onUnknown == .resend)
        return prepared.token.text.reveal()
      case .refused(let reason, _): return reason.code
      case .invalid(let problem): return problem.code.rawValue
      }
    }
    #expect(try prepare() == "t")
    #expect(try prepare(recipient: Sample.app) == "t")
    #expect(try prepare(recipient: "com.example.other") == "SEAL_MISMATCH")
    #expect(try prepare(app: "com.example.other") == "UNKNOWN_APP")
    #expect(try prepare(token: "") == "CAPTCHA_INVALID")
  }
}
