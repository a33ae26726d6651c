import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Coordination

@Suite struct ProvenRequesterTests {
  private func start(
    _ bench: Bench, _ proof: StartVerification.Proof, requester: String? = nil
  ) async throws -> VerificationStarted {
    var command = bench.startCommand(proof)
    command.requester = requester
    return try await bench.reply(to: command)
  }

  @Test func `The device of the proof is the requester, with whichever receipt; a named one goes before it`()
    async throws
  {
    let bench = try await Bench()
    let first = try await bench.receipt()
    let second = try await bench.receipt()
    let other = try await bench.receipt(token: String(repeating: "0B", count: 32))
    let mine = try await start(bench, Bench.pair(first.receipt, first.secret))
    #expect(try await start(bench, Bench.pair(second.receipt, second.secret)).verificationID == mine.verificationID)
    let theirs = try await start(bench, Bench.pair(other.receipt, other.secret))
    #expect(theirs.verificationID != mine.verificationID)
    let named = try await start(bench, Bench.pair(first.receipt, first.secret), requester: "a")
    #expect(Set([mine, theirs, named].map(\.verificationID)).count == 3)
    #expect(
      try await bench.status(theirs.verificationID).timeline.map(\.event) == [
        "push.queued", "proof.accepted", "started",
      ])
  }

  @Test func `The last three guesses of later requesters are for devices that have proven themselves`() async throws {
    let bench = try await Bench(Bench.rules { $0.apps[Bench.pushApp]?.verification = .audit })
    let app = Bench.pushApp
    let mine = try VerificationStarted(json: try await bench.ask(bench.startCommand(nil, app: app)).body)
    let code = try #require(try bench.jobs().first?.code)
    func wrong(_ id: String) async throws -> APIError {
      try await bench.error(CheckVerification(id, Bench.wrong(code)))
    }
    var command = bench.startCommand(nil, app: app)
    command.requester = "b"
    let unproven = try VerificationStarted(json: try await bench.ask(command).body)
    #expect(try await wrong(unproven.verificationID).attemptsLeft == 1)
    #expect(try await wrong(unproven.verificationID).code == .tooManyAttempts)
    let (receipt, secret) = try await bench.receipt(app: app)
    let proven = try await bench.reply(to: bench.startCommand(Bench.pair(receipt, secret), app: app))
    #expect(try await wrong(proven.verificationID).attemptsLeft == 2)
    #expect(try await bench.check(proven.verificationID, code).type == "verification.approved.v1")
    #expect(try await bench.status(mine.verificationID).state == .expired)
  }

  @Test func `A requester that proves its device when it asks again has the guesses of one that did at once`()
    async throws
  {
    let bench = try await Bench(Bench.rules { $0.apps[Bench.pushApp]?.verification = .audit })
    let app = Bench.pushApp
    _ = try await bench.ask(bench.startCommand(nil, app: app))
    let code = try #require(try bench.jobs().first?.code)
    var command = bench.startCommand(nil, app: app)
    command.requester = "b"
    let unproven = try VerificationStarted(json: try await bench.ask(command).body)
    let wrong = CheckVerification(unproven.verificationID, Bench.wrong(code))
    #expect(try await bench.error(wrong).attemptsLeft == 1)
    #expect(try await bench.error(wrong).code == .tooManyAttempts)
    let (receipt, secret) = try await bench.receipt(app: app)
    command.proof = Bench.pair(receipt, secret)
    let proven = try VerificationStarted(json: try await bench.ask(command).body)
    #expect(proven.verificationID == unproven.verificationID)
    #expect(try await bench.check(proven.verificationID, code).type == "verification.approved.v1")
  }

  @Test func `A start that waits for reCAPTCHA keeps its requester, purpose and subject; the action is the command's`()
    async throws
  {
    let bench = try await Bench()
    var command = bench.startCommand(
      .init(recaptchaToken: SecretField(Secret("t")), action: "enroll/phone"), app: Bench.recaptchaApp)
    command.purpose = .secondFactorEnrollment
    command.subject = "account"
    command.requester = "a"
    await bench.deliver([try bench.message(command)])
    let job = try #require(try bench.published(RecaptchaAssessJob.self).first)
    #expect(job.job.expectedAction == "enroll/phone")
    _ = bench.sink.takePublished()
    try await bench.finish(RecaptchaAssessJob.self, job.id, .accepted)
    let started = try VerificationStarted(json: try #require(bench.replies.first).body)
    #expect(started.purpose == .secondFactorEnrollment)
    let code = try #require(try bench.jobs().first?.code)
    _ = bench.sink.takePublished()

    command.proof = Bench.captcha("u")
    await bench.deliver([try bench.message(command)])
    let again = try #require(try bench.published(RecaptchaAssessJob.self).first)
    #expect(again.job.expectedAction == "sendVerificationCode")
    _ = bench.sink.takePublished()
    try await bench.finish(RecaptchaAssessJob.self, again.id, .accepted)
    #expect(
      try VerificationStarted(json: try #require(bench.replies.first).body).verificationID
        == started.verificationID)
    _ = try await bench.reply(
      to: CheckVerification(started.verificationID, code, purpose: .secondFactorEnrollment, subject: "account"))
  }

  @Test func `A start that waits for reCAPTCHA ends another asker's verification that has expired, and goes on`()
    async throws
  {
    let bench = try await Bench()
    func start(_ token: String, ip: String) async throws -> VerificationStarted {
      var command = bench.startCommand(Bench.captcha(token), app: Bench.recaptchaApp)
      command.client = .init(ip: ip)
      await bench.deliver([try bench.message(command)])
      let job = try #require(try bench.published(RecaptchaAssessJob.self).last)
      _ = bench.sink.takePublished()
      try await bench.finish(RecaptchaAssessJob.self, job.id, .accepted)
      return try VerificationStarted(json: try #require(bench.replies.first).body)
    }
    let first = try await start("t", ip: "192.0.2.1")
    await bench.deliverResults([try bench.result("\(first.verificationID).sms.1", .accepted)])
    bench.clock.advance(by: .seconds(300))
    _ = bench.sink.takePublished()
    let second = try await start("u", ip: "198.51.100.1")
    #expect(second.verificationID != first.verificationID)
    #expect(bench.events() == ["app.verified", "verification.expired", "verification.started"])
    #expect(bench.registry.render().contains(#"countersign_conversion_sent_total{region="US"} 1"#))
    #expect(try await bench.dump("counter").contains("cpm"))
  }

  @Test func `A requester past the token limit still gets its earlier answer`() async throws {
    let bench = try await Bench(Bench.rules { $0.limits[.proofsPerAddressPerHour] = 1 })
    let app = Bench.recaptchaApp
    await bench.deliver([try bench.message(bench.startCommand(Bench.captcha("t"), app: app))])
    let job = try #require(try bench.published(RecaptchaAssessJob.self).first)
    _ = bench.sink.takePublished()
    try await bench.finish(RecaptchaAssessJob.self, job.id, .accepted)
    let started = try VerificationStarted(json: try #require(bench.replies.first).body)
    bench.clock.advance(by: .seconds(31))
    let again = try await bench.reply(to: bench.startCommand(Bench.captcha("u"), app: app))
    #expect(again.verificationID == started.verificationID && !again.resent && again.resendAfter > 3000)
    #expect(try bench.jobs().isEmpty)
    var other = bench.startCommand(Bench.captcha("v"), app: app)
    other.requester = "b"
    #expect(try await bench.error(other).code == .tooManyAttempts)
  }
}
