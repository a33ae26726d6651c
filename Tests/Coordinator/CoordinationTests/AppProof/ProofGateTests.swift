import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Coordination

@Suite struct ProofGateTests {
  let bench: Bench

  init() async throws { bench = try await Bench() }

  private func code(_ bench: Bench, _ proof: StartVerification.Proof?, app: String = Bench.pushApp) async throws
    -> String
  {
    _ = bench.sink.takePublished()
    let error = try await bench.error(bench.startCommand(proof, app: app))
    #expect(try bench.published(SMSDispatchJob.self).isEmpty)
    return [error.code.rawValue, error.reason].compactMap { $0 }.joined(separator: " ")
  }

  @Test func `The pair lets the start through, for any number of times, and is announced once`() async throws {
    let (receipt, secret) = try await bench.receipt()
    try await bench.finish(PushVerifyJob.self, "\(receipt).push.1", .accepted)
    bench.clock.advance(by: .milliseconds(5))
    let started = try await bench.reply(to: bench.startCommand(Bench.pair(receipt, secret)))
    #expect(try bench.published(SMSDispatchJob.self).count == 1)
    #expect(try bench.event(AppVerified.self)?.receipt == receipt)
    let timeline = try await bench.status(started.verificationID).timeline.map(\.event)
    #expect(timeline == ["push.queued", "push.accepted", "proof.accepted", "started", "sms.queued"])
    bench.clock.advance(by: .milliseconds(5))
    _ = try await bench.ask(bench.startCommand(Bench.pair(receipt, secret)))
    let resumed = try await bench.status(started.verificationID).timeline.map(\.event)
    #expect(resumed == timeline + ["proof.accepted"])
    _ = try await bench.reply(to: bench.startCommand(Bench.pair(receipt, secret), number: "+14155550177"))
    #expect(try bench.event(AppVerified.self) == nil)
    #expect(try await bench.operation(receipt).state == .completed)
  }

  @Test func `Each proof that does not hold has an error of its own, and is counted`() async throws {
    let (receipt, secret) = try await bench.receipt()
    let other = try await bench.receipt(app: Bench.app, token: "ff")
    #expect(try await code(bench, Bench.pair(receipt, "x")) == "INVALID_APP_CREDENTIAL WRONG_SECRET")
    #expect(try await code(bench, Bench.pair("x", secret)) == "INVALID_APP_CREDENTIAL UNKNOWN_RECEIPT")
    #expect(try await code(bench, Bench.pair(other.receipt, other.secret)) == "APP_NOT_VERIFIED OTHER_APP")
    #expect(try await code(bench, Bench.pair(other.receipt, secret)) == "INVALID_APP_CREDENTIAL WRONG_SECRET")
    #expect(try await code(bench, nil) == "MISSING_CLIENT_IDENTIFIER")
    #expect(try await code(bench, Bench.pair(receipt, "")) == "MISSING_APP_CREDENTIAL")
    #expect(try await code(bench, Bench.pair("", secret)) == "MISSING_APP_CREDENTIAL")
    #expect(try await code(bench, Bench.pair("", "")) == "MISSING_CLIENT_IDENTIFIER")
    bench.clock.advance(by: .seconds(86_400))
    #expect(try await code(bench, Bench.pair(receipt, secret)) == "INVALID_APP_CREDENTIAL RECEIPT_EXPIRED")
    let counted = bench.registry.render()
    for (outcome, count) in [
      ("wrong_secret", 2), ("unknown_receipt", 1), ("other_app", 1), ("expired", 1), ("missing_secret", 2),
    ] {
      #expect(counted.contains(#"countersign_app_proofs_total{method="push",outcome="\#(outcome)"} \#(count)"#))
    }
  }

  @Test func `The configuration takes back what was issued before a time`() async throws {
    var rules = Bench.rules()
    rules.apps[Bench.pushApp]?.receiptsValidFrom = UnixTime(milliseconds: .max)
    let bench = try await Bench(rules)
    let (receipt, secret) = try await bench.receipt()
    #expect(try await code(bench, Bench.pair(receipt, secret)) == "INVALID_APP_CREDENTIAL RECEIPT_REVOKED")
  }

  @Test func `A proof may be sealed for its command, and is refused when it was moved`() async throws {
    let (receipt, secret) = try await bench.receipt()
    let context = SealContext(messageType: StartVerification.type, messageID: "m", recipient: Bench.pushApp)
    let field = try Sealer(keys: bench.keys).seal(Secret(secret), for: context)
    let command = bench.startCommand(StartVerification.Proof(receipt: receipt, secret: field))
    #expect(try await bench.ask(command, id: "n").type == "error.v1")
    #expect(try await bench.ask(command, id: "m").type == "verification.started.v1")
  }

  @Test func `A fictional number needs no proof, and none is looked at`() async throws {
    for proof in [nil, Bench.pair("x", "y")] {
      #expect(try await bench.reply(to: bench.startCommand(proof, number: Bench.fictional)).testNumber)
    }
  }

  @Test
  func `Without a proof that its service takes, a client verifies fictional numbers alone, whatever the app asks for`()
    async throws
  {
    for app in [Bench.app, Bench.pushApp, Bench.recaptchaApp, Bench.auditApp] {
      var command = bench.startCommand(nil, app: app)
      command.fictionalOnly = true
      let error = try await bench.error(command)
      #expect(error.code == .missingClientIdentifier && error.reason == "FICTIONAL_ONLY")
    }
    #expect(try bench.published(SMSDispatchJob.self).isEmpty)
    var command = bench.startCommand(nil, number: Bench.fictional)
    command.fictionalOnly = true
    #expect(try VerificationStarted(json: try await bench.ask(command).body).testNumber)
  }

  @Test func `A service that is trusted needs no proof; one that is given all the same is checked`() async throws {
    let (receipt, secret) = try await bench.receipt(app: Bench.app)
    #expect(
      try await code(bench, Bench.pair(receipt, "x"), app: Bench.app) == "INVALID_APP_CREDENTIAL WRONG_SECRET")
    _ = try await bench.reply(to: bench.startCommand(Bench.pair(receipt, secret), app: Bench.app))
    #expect(try await bench.ask(bench.startCommand(nil, app: Bench.app)).type == "verification.started.v1")
  }

  @Test func `An app that is verified by reCAPTCHA is told to use it`() async throws {
    let pair = try await code(bench, Bench.pair("r", "s"), app: Bench.recaptchaApp)
    #expect(pair == "INVALID_APP_CREDENTIAL PUSH_NOT_OFFERED")
    #expect(try await code(bench, nil, app: Bench.recaptchaApp) == "MISSING_CLIENT_IDENTIFIER")
  }

  @Test(
    arguments: [
      (StartVerification.Proof?.none, "proof.missing", nil), (Bench.pair("r", "s"), "proof.refused", "UNKNOWN_RECEIPT"),
      (Bench.pair("r", ""), "proof.refused", "MISSING_APP_CREDENTIAL"),
    ] as [(StartVerification.Proof?, String, String?)])
  func `An app that is audited gets through with anything, and the timeline says with what`(
    proof: StartVerification.Proof?, event: String, reason: String?
  ) async throws {
    let started = try await bench.reply(to: bench.startCommand(proof, app: Bench.auditApp))
    let timeline = try await bench.status(started.verificationID).timeline
    #expect(timeline.map(\.event) == [event, "started", "sms.queued"])
    #expect(timeline.first?.reason == reason)
  }

  @Test func `An app that is closed starts nothing but its fictional numbers`() async throws {
    #expect(try await code(bench, Bench.pair("r", "s"), app: "closed") == "APP_NOT_VERIFIED")
  }
}
