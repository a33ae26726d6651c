import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Coordination

@Suite struct BudgetTests {
  private func refusal(_ bench: Bench, _ command: some Command) async throws -> APIError {
    let error = try await bench.error(command)
    #expect(error.retryAfter != nil)
    return error
  }

  @Test func `Budgets, which no client uses up alone, are quotas; limits of somebody are too many attempts`() {
    let budgets: Set<Limit> = [
      .sendsPerCountryPerDay, .sendsPerDay, .receiptsPerAppPerDay, .receiptsPerDay, .assessmentsPerAppPerDay,
      .assessmentsPerDay, .revocationsPerAppPerDay, .revocationsPerDay, .noticesPerAppPerDay,
    ]
    for limit in Limit.refusing {
      let error = APIError(LimitRefusal(limit: limit, figure: 5, wait: .seconds(9)))
      #expect(error.code == (budgets.contains(limit) ? .quotaExceeded : .tooManyAttempts), "\(limit.label)")
      #expect(error.retryAfter == 9)
    }
  }

  @Test func `Random device tokens without an address use up the app's budget of pushes, then that of all`()
    async throws
  {
    let bench = try await Bench(Bench.rules([.receiptsPerAppPerDay: 5, .receiptsPerDay: 7]))
    func token() -> String { SecureRandom.bytes(32).map { String(256 + Int($0), radix: 16).dropFirst() }.joined() }
    for _ in 0..<5 { _ = try await bench.receipt(token: token()) }
    let error = try await refusal(bench, VerifyApp(app: Bench.pushApp, deviceToken: token()))
    #expect(error.code == .quotaExceeded)
    for _ in 0..<2 { _ = try await bench.receipt(app: Bench.auditApp, token: token()) }
    let all = try await refusal(bench, VerifyApp(app: Bench.auditApp, deviceToken: token()))
    #expect(all.code == .quotaExceeded)
    #expect(try await bench.count("appProof") == 7)
  }

  @Test func `Assessments without an address use up the app's budget`() async throws {
    let bench = try await Bench(Bench.rules { $0.limits[.assessmentsPerAppPerDay] = 3 })
    for index in 0..<3 {
      let command = StartVerification(
        phoneNumber: "+1415555\(1000 + index)", app: Bench.recaptchaApp, proof: Bench.captcha("token\(index)"))
      await bench.deliver([try bench.message(command)])
    }
    let error = try await refusal(
      bench, StartVerification(phoneNumber: Bench.number, app: Bench.recaptchaApp, proof: Bench.captcha("more")))
    #expect(error.code == .quotaExceeded)
    #expect(try await bench.count("assessment") == 3)
  }

  @Test func `One device proves so many messages a day, with however many receipts`() async throws {
    let bench = try await Bench(Bench.rules { $0.limits[.sendsPerDevicePerDay] = 3 })
    for index in 0..<3 {
      let pair = try await bench.receipt()
      _ = try await bench.reply(
        to: bench.startCommand(Bench.pair(pair.receipt, pair.secret), number: "+1415555\(1000 + index)", ip: nil))
    }
    let pair = try await bench.receipt()
    let error = try await refusal(bench, bench.startCommand(Bench.pair(pair.receipt, pair.secret), ip: nil))
    #expect(error.code == .tooManyAttempts && error.field == "proof.receipt")
    let other = try await bench.receipt(token: String(repeating: "0B", count: 32))
    _ = try await bench.reply(to: bench.startCommand(Bench.pair(other.receipt, other.secret), ip: nil))
  }

  private func revoke(_ token: String, to email: String? = "user@example.com") -> StartRevocation {
    StartRevocation(
      app: Bench.app, token: AppleToken(.refreshToken, SecretField(Secret(token))),
      notify: email.map { StartRevocation.Notice(email: $0) })
  }

  @Test func `Notices to one address and for one app, and revocations, have budgets; one without a notice still goes`()
    async throws
  {
    let bench = try await Bench(
      Bench.rules([.noticesPerAddressPerDay: 2, .noticesPerAppPerDay: 3, .revocationsPerAppPerDay: 5]))
    for index in 0..<2 { #expect(try await bench.ask(revoke("t\(index)")).type == "operation.started.v1") }
    let address = try await refusal(bench, revoke("t2", to: "USER@example.com"))
    #expect(address.code == .tooManyAttempts && address.field == "notify.email")
    #expect(try await bench.ask(revoke("t3", to: "other@example.com")).type == "operation.started.v1")
    let app = try await refusal(bench, revoke("t4", to: "third@example.com"))
    #expect(app.code == .quotaExceeded && app.field == "notify.email")
    for index in 5..<7 {
      #expect(try await bench.ask(revoke("t\(index)", to: nil)).type == "operation.started.v1")
    }
    #expect(try await refusal(bench, revoke("t7", to: nil)).code == .quotaExceeded)
    // The same token again is the same operation, whatever the budgets.
    #expect(try await bench.ask(revoke("t0")).type == "operation.started.v1")
  }

  @Test func `Receipts whose push Apple refuses for its device token use up the network's figure, and nobody's day`()
    async throws
  {
    let bench = try await Bench(
      Bench.rules([.receiptsPerAppPerDay: 3, .receiptsPerDay: 3, .proofsPerAddressPerHour: 1]))
    func ask(_ index: Int, ip: String?) -> VerifyApp {
      let token = String(repeating: String(16 + index, radix: 16), count: 32)
      return VerifyApp(app: Bench.pushApp, deviceToken: token, client: ip.map { .init(ip: $0) })
    }
    for index in 0..<10 {
      _ = try await bench.reply(to: ask(index, ip: "2001:db8:0:\(index)::1"))
      let push = try #require(try bench.pushes().last)
      let reason = index % 2 == 0 ? "BAD_DEVICE_TOKEN" : "UNREGISTERED"
      try await bench.finish(PushVerifyJob.self, push.id, .refused, reason: reason)
    }
    let network = try await refusal(bench, ask(10, ip: "2001:db8:0:ffff::1"))
    #expect(network.code == .tooManyAttempts && network.field == "client.ip")
    // The day's budget is there for three others, whose devices are real, or of whom nothing is known.
    #expect(try await bench.ask(ask(11, ip: "192.0.2.1")).type == "app.verifying.v1")
    for index in 12..<14 {
      #expect(try await bench.ask(ask(index, ip: nil)).type == "app.verifying.v1")
      let push = try #require(try bench.pushes().last)
      await bench.deliverResults(
        [try bench.report(PushVerifyJob.self, push.id, .refused, reason: "BAD_DEVICE_TOKEN")])
    }
    #expect(try await refusal(bench, ask(14, ip: "198.51.100.1")).code == .quotaExceeded)
  }

  @Test func `With the wrong codes of an app used up, a right code after a typing error is approved by starting again`()
    async throws
  {
    let bench = try await Bench(Bench.rules { $0.limits[.wrongCodesPerAppPerDay] = 2 })
    for index in 0..<2 {
      let started = try await bench.start("+1415555\(1000 + index)")
      let code = try #require(try bench.jobs().last).code
      #expect(try await bench.checkError(started.verificationID, Bench.wrong(code)) == .invalidCode)
    }
    let started = try await bench.start()
    let code = try #require(try bench.jobs().last).code
    // The first one is compared all the same.
    #expect(try await bench.checkError(started.verificationID, Bench.wrong(code)) == .invalidCode)
    let used = try await refusal(bench, CheckVerification(started.verificationID, code))
    #expect(used.reason == "WRONG_CODES_USED_UP" && used.retryAfter == 30)
    // No SMS before the gap is over.
    #expect(try await bench.start().verificationID == started.verificationID)
    #expect(try bench.jobs().isEmpty)
    bench.clock.advance(by: .seconds(30))
    #expect(try await refusal(bench, CheckVerification(started.verificationID, code)).retryAfter == 1)
    let again = try await bench.start()
    #expect(again.verificationID != started.verificationID && !again.resent)
    let next = try #require(try bench.jobs().last).code
    #expect(try await bench.check(again.verificationID, next).type == "verification.approved.v1")
  }

  @Test func `Whoever has not mistyped, and who asked second, end no code of others when wrong codes are used up`()
    async throws
  {
    let bench = try await Bench(Bench.rules { $0.limits[.wrongCodesPerAppPerDay] = 1 })
    let other = try await bench.start("+14155551000")
    #expect(
      try await bench.checkError(other.verificationID, Bench.wrong(try #require(try bench.jobs().last).code))
        == .invalidCode)
    let first = try await bench.start(ip: "192.0.2.1")
    let code = try #require(try bench.jobs().last).code
    bench.clock.advance(by: .seconds(30))
    #expect(try await bench.start(ip: "192.0.2.1").verificationID == first.verificationID)
    #expect(try await bench.checkError(first.verificationID, Bench.wrong(code)) == .invalidCode)
    bench.clock.advance(by: .seconds(60))
    let second = try await bench.start(ip: "198.51.100.1")
    #expect(try await bench.status(first.verificationID).state == .sending)
    #expect(try await bench.checkError(second.verificationID, Bench.wrong(code)) == .invalidCode)
    // As long as the code lives, and not for a day.
    let refused = try await refusal(bench, CheckVerification(second.verificationID, code))
    #expect(refused.reason == "WRONG_CODES_USED_UP" && (1...600).contains(refused.retryAfter ?? 0))
    #expect(try await bench.start(ip: "198.51.100.1").verificationID == second.verificationID)
    #expect(try await bench.status(first.verificationID).state == .sending)
  }

  @Test func `Wrong codes of a fictional number are refused after ten, and counted apart`() async throws {
    let bench = try await Bench(Bench.rules { $0.limits[.wrongCodesPerFictionalNumberPerHour] = 10 })
    var answers: [APIErrorCode] = []
    for _ in 0..<4 {
      let started = try await bench.start(Bench.fictional)
      for _ in 0..<5 { answers.append(try await bench.checkError(started.verificationID, "000000")) }
    }
    #expect(answers.count { $0 == .invalidCode } <= 10)
    let started = try await bench.start(Bench.fictional)
    let error = try await refusal(
      bench, CheckVerification(verificationID: started.verificationID, code: SecretField(Secret("654321"))))
    #expect(error.code == .tooManyAttempts)
    bench.clock.advance(by: .seconds(3600))
    let again = try await bench.start(Bench.fictional)
    #expect(try await bench.check(again.verificationID, "654321").type == "verification.approved.v1")
    #expect(bench.registry.render().contains(#"countersign_wrong_codes_total{number="fictional"} 10"#))
  }

  @Test func `A pepper is changed: the same device, token and revocation are known again`() throws {
    let (old, new) = (try Pepper([UInt8](repeating: 1, count: 32)), try Pepper([UInt8](repeating: 2, count: 32)))
    let before = KeyedHashes(current: old)
    let after = KeyedHashes(current: new, previous: old)
    #expect(after.hash(deviceToken: "aa", app: "a").earlier == before.hash(deviceToken: "aa", app: "a").current)
    #expect(after.hash(deviceToken: "aa", app: "a").current != before.hash(deviceToken: "aa", app: "a").current)
    #expect(after.hash(appleToken: Secret("t"), app: "a", subject: nil).all.count == 2)
  }
}
