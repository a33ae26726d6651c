import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

@Suite struct CommandAgeTests {
  private let start = StartVerification(phoneNumber: Bench.number, app: Bench.app)

  @Test func `A start without a timestamp that waited for the store has its whole life before it`() async throws {
    let bench = try await Bench()
    bench.faulty = FaultyStore(bench.store)
    bench.faulty?.fail(.full, .transact, times: 1) { [clock = bench.clock] in clock.advance(by: .seconds(60)) }
    let started = try VerificationStarted(json: try await bench.ask(start).body)
    #expect(started.expiresAt == bench.clock.now() + bench.rules.policy.lifetime)
    #expect(try bench.jobs().count == 1)
  }

  @Test func `It can be configured`() async throws {
    let bench = try await Bench(Bench.rules { $0.maxCommandAge = .seconds(3600) })
    let sentAt = bench.clock.now()
    bench.clock.advance(by: .seconds(3600))
    #expect(try await bench.ask(start, sentAt: sentAt).type == "verification.started.v1")
  }

  @Test
  func `An old start or app.verify is not carried out; one without a timestamp, or of the future, has no age`()
    async throws
  {
    let bench = try await Bench()
    let verify = VerifyApp(app: Bench.pushApp, deviceToken: Bench.token, environment: .sandbox)
    for command in [start, verify] as [any Command] {
      let old = try await bench.ask(command, sentAt: bench.clock.now() - .seconds(60))
      #expect(try ErrorReply(json: old.body).error.reason == "COMMAND_TOO_OLD")
    }
    #expect(try bench.pushes().isEmpty && bench.jobs().isEmpty)
    for table in ["verification", "counter", "inbox", "outbox"] { #expect(try await bench.count(table) == 0) }
    #expect(try await bench.ask(verify).type == "app.verifying.v1")
    #expect(try await bench.ask(verify, sentAt: bench.clock.now() + .seconds(86_400)).type == "app.verifying.v1")
  }

  @Test func `A start that waits for its assessment came in time, also when it is delivered again late`() async throws {
    let bench = try await Bench(Bench.rules { $0.proof.assessmentTimeout = .seconds(60) })
    let sentAt = bench.clock.now()
    let command = bench.startCommand(Bench.captcha("t"), app: Bench.recaptchaApp)
    await bench.deliver([try bench.message(command, id: "m", sentAt: sentAt)])
    let job = try #require(try bench.published(RecaptchaAssessJob.self).first)
    bench.clock.advance(by: .seconds(50))
    _ = bench.sink.takePublished()
    await bench.deliver([try bench.message(command, id: "m", sentAt: sentAt)])
    #expect(bench.replies.isEmpty)
    try await bench.finish(RecaptchaAssessJob.self, job.id, .accepted)
    #expect(bench.replies.map(\.type) == ["verification.started.v1"])
  }

  @Test func `All other commands are carried out however late`() async throws {
    let bench = try await Bench()
    let (id, code) = try await bench.begin()
    let early = bench.clock.now() - .seconds(86_400)
    #expect(try await bench.ask(GetVerificationStatus(verificationID: id), sentAt: early).type != "error.v1")
    let check = CheckVerification(verificationID: id, code: SecretField(Secret(code)))
    #expect(try await bench.ask(check, sentAt: early).type == "verification.approved.v1")
    let second = try await bench.start()
    let cancel = CancelVerification(verificationID: second.verificationID)
    #expect(try await bench.ask(cancel, sentAt: early).type == "verification.canceled.v1")
    let revoke = StartRevocation(app: Bench.app, token: .refreshToken(SecretField(Secret("r"))))
    #expect(try await bench.ask(revoke, sentAt: early).type == "operation.started.v1")
  }
}
