import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import SQLite
import TestSupport
import Testing

@testable import Coordination

/// One message ID is one command, also while that waits for reCAPTCHA.
@Suite struct WaitingStartTests {
  let bench: Bench

  init() async throws { bench = try await Bench() }

  private func start(_ bench: Bench, _ token: String = "t", number: String = Bench.number) -> StartVerification {
    bench.startCommand(Bench.captcha(token), app: Bench.recaptchaApp, number: number)
  }

  private let check = CheckVerification(verificationID: "x", code: SecretField(Secret("1")))

  private func runOut(_ bench: Bench) async throws {
    bench.clock.advance(by: .seconds(10))
    try await bench.sweep()
    _ = bench.sink.takePublished()
    try await bench.relay()
  }

  private func replies(_ bench: Bench) -> [String] {
    bench.sink.published.filter { $0.exchange.isEmpty }.map(\.routingKey)
  }

  @Test func `A start that waits goes on waiting when its number becomes fictional, and is carried out once`()
    async throws
  {
    let message = try bench.message(bench.startCommand(Bench.captcha("t"), app: Bench.recaptchaApp))
    await bench.deliver([message])
    let job = try #require(try bench.published(RecaptchaAssessJob.self).first)
    bench.rules.apps[Bench.recaptchaApp]?.fictionalNumbers[Bench.number] = "123456"
    _ = bench.sink.takePublished()
    await bench.deliver([message])
    #expect(bench.sink.published.isEmpty)
    bench.rules.apps[Bench.recaptchaApp]?.fictionalNumbers = [:]
    try await bench.finish(RecaptchaAssessJob.self, job.id, .accepted)
    #expect(bench.replies.count == 1)
    #expect(try bench.jobs().count == 1)
    #expect(try await bench.count("verification") == 1)
  }

  @Test func `Another command under its ID is refused, and what waits is answered`() async throws {
    await bench.deliver([try bench.message(start(bench), id: "m", replyTo: "amq.gen-first")])
    _ = bench.sink.takePublished()
    await bench.deliver([try bench.message(check, id: "m", replyTo: "amq.gen-second")])
    #expect(replies(bench) == ["amq.gen-second"])
    let error = try ErrorReply(json: bench.sink.published[0].message.body).error
    #expect(error.field == "message_id")
    try await runOut(bench)
    #expect(replies(bench) == ["amq.gen-first"])
  }

  @Test func `A start for another number under its ID is refused to its own sender`() async throws {
    await bench.deliver([try bench.message(start(bench), id: "m", replyTo: "amq.gen-first")])
    let job = try #require(try bench.published(RecaptchaAssessJob.self).first?.id)
    _ = bench.sink.takePublished()
    await bench.deliver([
      try bench.message(start(bench, "u", number: "+14155550177"), id: "m", replyTo: "amq.gen-second")
    ])
    #expect(replies(bench) == ["amq.gen-second"])
    #expect(bench.sink.published.map(\.message.type) == ["error.v1"])
    _ = bench.sink.takePublished()
    try await bench.finish(RecaptchaAssessJob.self, job, .accepted)
    #expect(replies(bench) == ["amq.gen-first"])
    #expect(try bench.published(SMSDispatchJob.self).first?.job.to == Bench.number)
  }

  @Test func `The same command again is answered under its newest correlation ID, to the same queue too`() async throws
  {
    await bench.deliver([try bench.message(start(bench), id: "m", replyTo: "amq.gen-me")])
    let job = try #require(try bench.published(RecaptchaAssessJob.self).first?.id)
    let again = try bench.message(start(bench), id: "m", replyTo: "amq.gen-me")
    await bench.deliver([again])
    _ = bench.sink.takePublished()
    try await bench.finish(RecaptchaAssessJob.self, job, .accepted)
    #expect(bench.replies.map(\.correlationID) == [again.correlationID])
  }

  @Test func `A place that a version before did not keep stops nobody: all that waits is answered`() async throws {
    await bench.deliver([try bench.message(start(bench), id: "m", replyTo: "amq.gen-first")])
    try await bench.run("DELETE FROM store_inbox")
    await bench.deliver([try bench.message(check, id: "m", replyTo: "amq.gen-second")])
    await bench.deliver([
      try bench.message(start(bench, "u", number: "+14155550177"), id: "n", replyTo: "amq.gen-third")
    ])
    try await runOut(bench)
    #expect(Set(replies(bench)) == ["amq.gen-first", "amq.gen-third"])
    #expect(bench.registry.render().contains(/countersign_rows_skipped_total\{[^}]*\} [1-9]/) == false)
  }

  @Test func `A refusal that says when to try again is no answer for good`() async throws {
    let command = VerifyApp(app: Bench.pushApp, deviceToken: Bench.token, environment: .sandbox)
    for _ in 0..<10 { _ = try await bench.ask(command) }
    let refused = try await bench.ask(command, id: "m")
    #expect(try ErrorReply(json: refused.body).error.retryAfter != nil)
    bench.clock.advance(by: .seconds(3600))
    #expect(try await bench.ask(command, id: "m").type == "app.verifying.v1")
  }

  @Test func `A refused request for a receipt costs one transaction, as others do`() async throws {
    let command = VerifyApp(app: Bench.pushApp, deviceToken: Bench.token, environment: .sandbox)
    for _ in 0..<10 { _ = try await bench.ask(command) }
    let before = bench.database.statistics.bodies
    _ = try await bench.ask(command)
    #expect(bench.database.statistics.bodies == before + 1)
  }
}
