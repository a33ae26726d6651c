import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Coordination

@Suite struct AssessmentTests {
  let bench: Bench

  init() async throws { bench = try await Bench() }

  private func ask(_ bench: Bench, _ message: Message) async throws -> String {
    _ = bench.sink.takePublished()
    #expect(await bench.deliver([message]).ackedCount == 1)
    #expect(bench.replies.isEmpty)
    return try #require(try bench.published(RecaptchaAssessJob.self).first?.id)
  }

  private func start(_ bench: Bench, _ token: String = "t", app: String = Bench.recaptchaApp) async throws -> String {
    try await ask(bench, try bench.message(bench.startCommand(Bench.captcha(token), app: app)))
  }

  private func error(_ bench: Bench) throws -> String {
    let reply = try #require(bench.replies.last)
    let error = try ErrorReply(json: reply.body).error
    return [error.code.rawValue, error.reason].compactMap { $0 }.joined(separator: " ")
  }

  @Test(arguments: [Bench.recaptchaApp, Bench.pushApp])
  func `It is answered when the token has passed, and not before`(app: String) async throws {
    let message = try bench.message(bench.startCommand(Bench.captcha("t"), app: app), replyTo: "amq.gen-me")
    let id = try await ask(bench, message)
    let job = try #require(try bench.published(RecaptchaAssessJob.self).first?.job)
    #expect(job.app == app)
    #expect(job.phoneNumber == Bench.number)
    #expect(job.expectedAction == "sendVerificationCode")
    #expect(job.client?.ip == "192.0.2.1")
    #expect(job.deadline == bench.clock.now() + .seconds(10))
    let context = SealContext(messageType: RecaptchaAssessJob.type, messageID: id, recipient: app)
    #expect(job.token.isSealed)
    #expect(try job.token.open(with: bench.keys, for: context).reveal() == "t")
    _ = bench.sink.takePublished()
    try await bench.finish(RecaptchaAssessJob.self, id, .accepted, extras: ["score": 0.9])
    let reply = try #require(bench.sink.published.first { $0.exchange.isEmpty })
    #expect(reply.routingKey == "amq.gen-me")
    #expect(reply.message.correlationID == message.correlationID)
    let started = try VerificationStarted(json: reply.message.body)
    #expect(try bench.published(SMSDispatchJob.self).count == 1)
    #expect(try bench.event(AppVerified.self)?.score == 0.9)
    let timeline = try await bench.status(started.verificationID).timeline
    #expect(timeline.map(\.event) == ["recaptcha.accepted", "started", "sms.queued"])
    #expect(timeline.first?.detail == "score 0.9")
  }

  @Test func `A token that does not pass is answered with its reason, and nothing is sent`() async throws {
    let id = try await start(bench)
    try await bench.finish(RecaptchaAssessJob.self, id, .refused, reason: "CAPTCHA_SCORE_TOO_LOW")
    #expect(try error(bench) == "CAPTCHA_CHECK_FAILED CAPTCHA_SCORE_TOO_LOW")
    #expect(try bench.published(SMSDispatchJob.self).isEmpty)
  }

  @Test(arguments: [JobOutcome.expired, .unknown])
  func `A token that could not be assessed says so`(outcome: JobOutcome) async throws {
    let id = try await start(bench)
    try await bench.finish(RecaptchaAssessJob.self, id, outcome)
    #expect(try error(bench) == "APP_NOT_VERIFIED CAPTCHA_UNDECIDED")
  }

  @Test func `When nobody assesses it in time, the maintenance answers, and what comes later changes nothing`()
    async throws
  {
    let id = try await start(bench)
    bench.clock.advance(by: .milliseconds(9_999))
    try await bench.sweep()
    bench.clock.advance(by: .milliseconds(1))
    try await bench.sweep()
    _ = bench.sink.takePublished()
    try await bench.relay()
    #expect(try error(bench) == "APP_NOT_VERIFIED CAPTCHA_UNDECIDED")
    _ = bench.sink.takePublished()
    try await bench.finish(RecaptchaAssessJob.self, id, .accepted)
    #expect(bench.sink.published.isEmpty)
  }

  @Test func `A report that comes twice starts one verification`() async throws {
    let id = try await start(bench)
    let report = try bench.report(RecaptchaAssessJob.self, id, .accepted)
    await bench.deliverResults([report, report])
    await bench.deliverResults([report])
    #expect(bench.replies.count == 1)
    #expect(try bench.published(SMSDispatchJob.self).count == 1)
  }

  @Test func `A token that was used before is refused at once, while it is assessed and after`() async throws {
    let id = try await start(bench)
    let command = bench.startCommand(Bench.captcha("t"), app: Bench.recaptchaApp, number: "+14155550177")
    #expect(try await bench.error(command).reason == "CAPTCHA_REPLAYED")
    try await bench.finish(RecaptchaAssessJob.self, id, .accepted)
    let error = try await bench.error(command)
    #expect(error.code == .captchaCheckFailed)
    #expect(error.reason == "CAPTCHA_REPLAYED")
    #expect(try bench.published(RecaptchaAssessJob.self).isEmpty)
    #expect(
      bench.registry.render().contains(#"countersign_app_proofs_total{method="recaptcha",outcome="replayed"} 2"#))
  }

  @Test func `A command that comes again waits for the same assessment, and the last one to ask is answered`()
    async throws
  {
    let command = bench.startCommand(Bench.captcha("t"), app: Bench.recaptchaApp)
    let id = try await ask(bench, try bench.message(command, id: "m", replyTo: "amq.gen-first"))
    let again = try bench.message(command, id: "m", replyTo: "amq.gen-second")
    await bench.deliver([again, again])
    #expect(try bench.published(RecaptchaAssessJob.self).count == 1)
    try await bench.finish(RecaptchaAssessJob.self, id, .accepted)
    let reply = try #require(bench.sink.published.first { $0.exchange.isEmpty })
    #expect(reply.routingKey == "amq.gen-second")
    #expect(reply.message.correlationID == again.correlationID)
    _ = bench.sink.takePublished()
    await bench.deliver([again])
    #expect(bench.replies.map(\.body) == [reply.message.body])
    #expect(try bench.published(SMSDispatchJob.self).isEmpty)
  }

  @Test
  func
    `Killed between commit and publish: the assessment is asked for by the next start, the reply comes all the same`()
    async throws
  {
    bench.sink.close()
    await bench.deliver([
      try bench.message(bench.startCommand(Bench.captcha("t"), app: Bench.recaptchaApp))
    ])
    bench.sink.open()
    try await bench.takeOver()
    try await bench.relay()
    let id = try #require(try bench.published(RecaptchaAssessJob.self).first?.id)
    bench.sink.close()
    try await bench.finish(RecaptchaAssessJob.self, id, .accepted)
    bench.sink.open()
    try await bench.takeOver()
    try await bench.relay()
    #expect(bench.replies.map(\.type) == ["verification.started.v1"])
    #expect(try bench.published(SMSDispatchJob.self).count == 1)
  }

  @Test func `Nothing is assessed for a message that a limit forbids, and the limits hold after an assessment too`()
    async throws
  {
    let rules = Bench.rules { $0.limits[.sendsPerNumberPer10Minutes] = 1 }
    let bench = try await Bench(rules)
    let ids = [try await start(bench, "1"), try await start(bench, "2", app: Bench.pushApp)]
    for id in ids {
      try await bench.finish(RecaptchaAssessJob.self, id, .accepted)
    }
    #expect(bench.replies.first?.type == "verification.started.v1")
    #expect(try error(bench) == "TOO_MANY_ATTEMPTS_TRY_LATER")
    #expect(try await bench.error(bench.startCommand(Bench.captcha("3"), app: Bench.pushApp)).code == .tooManyAttempts)
    #expect(try bench.published(RecaptchaAssessJob.self).isEmpty)
    // The verification that lives is given to whoever passes, limits or not.
    let again = try await start(bench, "4")
    try await bench.finish(RecaptchaAssessJob.self, again, .accepted)
    #expect(bench.replies.first?.type == "verification.started.v1")
  }

  @Test func `Assessments are limited by address`() async throws {
    let bench = try await Bench(Bench.rules { $0.limits[.proofsPerAddressPerHour] = 2 })
    _ = try await start(bench, "1")
    _ = try await start(bench, "2")
    let error = try await bench.error(bench.startCommand(Bench.captcha("3"), app: Bench.recaptchaApp))
    #expect(error.code == .tooManyAttempts)
    #expect(error.field == "client.ip")
  }

  @Test func `Values that do not fit into a job are refused or cut`() async throws {
    let tooLong = bench.startCommand(Bench.captcha(String(repeating: "t", count: 16_385)), app: Bench.recaptchaApp)
    let error = try await bench.error(tooLong)
    #expect(error.code == .invalidArgument)
    #expect(error.field == "proof.recaptchaToken")
    var command = bench.startCommand(
      Bench.captcha(String(repeating: "t", count: 16_384)), app: Bench.recaptchaApp)
    command.client?.userAgent = String(repeating: "u", count: 40_000)
    _ = try await ask(bench, try bench.message(command))
    #expect(try bench.published(RecaptchaAssessJob.self).first?.job.client?.userAgent?.count == 512)
  }

  @Test func `A user agent is cut by its bytes: one letter may have any number of accents`() async throws {
    var command = bench.startCommand(
      Bench.captcha(String(repeating: "t", count: 16_384)), app: Bench.recaptchaApp)
    command.client?.userAgent = String(repeating: "a" + String(repeating: "\u{301}", count: 1_000), count: 18)
    _ = try await ask(bench, try bench.message(command))
    #expect(try bench.published(RecaptchaAssessJob.self).first?.job.client?.userAgent?.utf8.count == 511)
  }

  @Test func `The token itself is not stored`() async throws {
    _ = try await start(bench, "very-secret-token")
    for table in ["assessment", "outbox", "inbox"] {
      let stored = try await bench.dump(table)
      #expect(!stored.contains("very-secret-token"), "\(table)")
    }
  }

  @Test func `An app that is audited does not wait; the outcome goes into the timeline`() async throws {
    let started = try await bench.reply(to: bench.startCommand(Bench.captcha("t"), app: Bench.auditApp))
    let id = try #require(try bench.published(RecaptchaAssessJob.self).first?.id)
    try await bench.finish(
      RecaptchaAssessJob.self, id, .refused, reason: "CAPTCHA_SCORE_TOO_LOW", extras: ["score": 0.1])
    #expect(bench.replies.count == 1)
    let timeline = try await bench.status(started.verificationID).timeline
    #expect(timeline.map(\.event) == ["recaptcha.queued", "started", "sms.queued", "recaptcha.refused"])
    #expect(timeline.last?.reason == "CAPTCHA_SCORE_TOO_LOW")
    #expect(timeline.last?.detail == "because; score 0.1")
  }

  @Test func `An app that is audited learns from the timeline, too, that nobody assessed its token in time`()
    async throws
  {
    let started = try await bench.reply(to: bench.startCommand(Bench.captcha("t"), app: Bench.auditApp))
    bench.clock.advance(by: .seconds(10))
    try await bench.sweep()
    let timeline = try await bench.status(started.verificationID).timeline
    #expect(timeline.map(\.event) == ["recaptcha.queued", "started", "sms.queued", "recaptcha.expired"])
    #expect(timeline.last?.reason == "NOT_ASSESSED_IN_TIME")
  }

  @Test func `A token of before the pepper was changed is recognized`() async throws {
    _ = try await start(bench)
    try bench.changePepper()
    let command = bench.startCommand(Bench.captcha("t"), app: Bench.recaptchaApp, number: "+14155550177")
    #expect(try await bench.error(command).reason == "CAPTCHA_REPLAYED")
  }

  @Test func `A receipt beside the token says why the push did not come`() async throws {
    let receipt = try await bench.receipt().receipt
    try await bench.finish(PushVerifyJob.self, "\(receipt).push.1", .refused, reason: "WRONG_ENVIRONMENT")
    bench.clock.advance(by: .milliseconds(5))
    var proof = Bench.captcha("t")
    proof.receipt = receipt
    let id = try await ask(bench, try bench.message(bench.startCommand(proof)))
    try await bench.finish(RecaptchaAssessJob.self, id, .accepted)
    let started = try VerificationStarted(json: try #require(bench.replies.last).body)
    let timeline = try await bench.status(started.verificationID).timeline
    #expect(
      timeline.map(\.event) == ["push.queued", "push.refused", "recaptcha.accepted", "started", "sms.queued"])
    #expect(timeline[1].reason == "WRONG_ENVIRONMENT")
  }

  @Test func `Ended records are deleted after the retention`() async throws {
    let id = try await start(bench)
    try await bench.finish(RecaptchaAssessJob.self, id, .accepted)
    try await bench.sweep()
    #expect(try await bench.count("assessment") == 1)
    bench.clock.advance(by: .seconds(86_400))
    try await bench.sweep()
    #expect(try await bench.count("assessment") == 0)
  }
}
