import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import Testing

@testable import Coordination

@Suite("Budgets")
struct BudgetTests {
  /// Error that a command that goes beyond a budget is told.
  private func refusal(_ bench: Bench, _ command: some Command) async throws -> APIError {
    let error = try await bench.error(command)
    #expect(error.retryAfter != nil)
    return error
  }

  @Test("Budgets, which no client uses up alone, are quotas; limits of somebody are too many attempts")
  func codesOfLimits() {
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

  @Test("Random device tokens without an address use up the app's budget of pushes, then that of all")
  func randomDeviceTokensWithoutAnAddressUseUpTheAppsBudgetOfPushes() async throws {
    let rules = Bench.rules {
      $0.limits[.receiptsPerAppPerDay] = 5
      $0.limits[.receiptsPerDay] = 7
    }
    try await Bench.with(rules) { bench in
      func token() -> String { SecureRandom.bytes(32).map { String(256 + Int($0), radix: 16).dropFirst() }.joined() }
      for _ in 0..<5 { _ = try await bench.receipt(token: token()) }
      let error = try await refusal(bench, VerifyApp(app: Bench.pushApp, deviceToken: token()))
      #expect(error.code == .quotaExceeded)
      for _ in 0..<2 { _ = try await bench.receipt(app: Bench.auditApp, token: token()) }
      let all = try await refusal(bench, VerifyApp(app: Bench.auditApp, deviceToken: token()))
      #expect(all.code == .quotaExceeded)
      #expect(try await bench.count("appProof") == 7)
    }
  }

  @Test("Assessments without an address use up the app's budget")
  func assessmentsWithoutAnAddressUseUpTheAppsBudget() async throws {
    try await Bench.with(Bench.rules { $0.limits[.assessmentsPerAppPerDay] = 3 }) { bench in
      for index in 0..<3 {
        let command = StartVerification(
          phoneNumber: "+1415555\(1000 + index)", app: Bench.recaptchaApp, proof: Bench.captcha("token\(index)"))
        await bench.deliver([try bench.commandMessage(command)])
      }
      let error = try await refusal(
        bench, StartVerification(phoneNumber: Bench.number, app: Bench.recaptchaApp, proof: Bench.captcha("more")))
      #expect(error.code == .quotaExceeded)
      #expect(try await bench.count("assessment") == 3)
    }
  }

  @Test("One device proves so many messages a day, with however many receipts")
  func oneDeviceProvesSoManyMessagesADayWithHoweverManyReceipts() async throws {
    try await Bench.with(Bench.rules { $0.limits[.sendsPerDevicePerDay] = 3 }) { bench in
      for index in 0..<3 {
        let pair = try await bench.receipt()
        let reply = try await bench.ask(
          StartVerification(
            phoneNumber: "+1415555\(1000 + index)", app: Bench.pushApp, proof: Bench.pair(pair.receipt, pair.secret)))
        #expect(reply.type == "verification.started.v1")
      }
      let pair = try await bench.receipt()
      let error = try await refusal(
        bench,
        StartVerification(
          phoneNumber: Bench.number, app: Bench.pushApp, proof: Bench.pair(pair.receipt, pair.secret)))
      #expect(error.code == .tooManyAttempts && error.field == "proof.receipt")
      let other = try await bench.receipt(token: String(repeating: "0B", count: 32))
      let reply = try await bench.ask(
        StartVerification(
          phoneNumber: Bench.number, app: Bench.pushApp, proof: Bench.pair(other.receipt, other.secret)))
      #expect(reply.type == "verification.started.v1")
    }
  }

  private func revoke(_ token: String, to email: String? = "user@example.com") -> StartRevocation {
    StartRevocation(
      app: Bench.app, token: AppleToken(.refreshToken, SecretField(Secret(token))),
      notify: email.map { StartRevocation.Notice(email: $0) })
  }

  @Test("Notices to one address and for one app, and revocations, have budgets; one without a notice still goes")
  func noticesToOneAddressAndForOneAppAndRevocationsHaveBudgetsOne() async throws {
    let rules = Bench.rules {
      $0.limits[.noticesPerAddressPerDay] = 2
      $0.limits[.noticesPerAppPerDay] = 3
      $0.limits[.revocationsPerAppPerDay] = 5
    }
    try await Bench.with(rules) { bench in
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
  }

  @Test("Wrong codes of a fictional number are refused after ten, and counted apart")
  func wrongCodesOfAFictionalNumberAreRefusedAfterTenAndCounted() async throws {
    try await Bench.with { bench in
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
  }

  @Test("A pepper is changed: the same device, token and revocation are known again")
  func pepperChanged() throws {
    let (old, new) = (try Pepper([UInt8](repeating: 1, count: 32)), try Pepper([UInt8](repeating: 2, count: 32)))
    let before = KeyedHashes(current: old)
    let after = KeyedHashes(current: new, previous: old)
    #expect(after.hash(deviceToken: "aa", app: "a").earlier == before.hash(deviceToken: "aa", app: "a").current)
    #expect(after.hash(deviceToken: "aa", app: "a").current != before.hash(deviceToken: "aa", app: "a").current)
    #expect(after.hash(appleToken: Secret("t"), app: "a").all.count == 2)
  }
}
