import CommandEngine
import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Coordination

@Suite struct RequesterTests {
  let bench: Bench

  init() async throws { bench = try await Bench() }

  private func checkError(_ bench: Bench, _ id: String, _ code: String) async throws -> APIError {
    try await bench.error(CheckVerification(id, code))
  }

  @Test func `A requester is its name or its network and instance or unnamed`() async throws {
    let named = try await bench.start(requester: "a", ip: "192.0.2.1")
    var ids = [named.verificationID]
    for (ip, instance) in [
      (nil, nil), ("192.0.2.1", nil), ("192.0.2.1", "com.example.app agent"), ("192.0.2.2", "com.example.app agent"),
    ] {
      ids.append(try await bench.start(ip: ip, instance: instance).verificationID)
      // An instance without an address says nothing.
      if ip == nil {
        #expect(try await bench.start(instance: "i").verificationID == ids.last)
        let empty = StartVerification(phoneNumber: Bench.number, app: Bench.app, client: StartVerification.Client())
        #expect(try await bench.reply(to: empty).verificationID == ids.last)
      }
      #expect(try await bench.start(ip: ip, instance: instance).verificationID == ids.last)
    }
    #expect(Set(ids).count == 5)
    #expect(try await bench.start(requester: "a", ip: "198.51.100.1").verificationID == ids[0])
    #expect(try await bench.count("verification") == 1)
    let rows = try await bench.dump("verification")
    #expect(!rows.contains("agent") && !rows.contains("192.0.2.1"))
  }

  @Test func `The same requester asks as often as it likes; no limit refuses it, and one SMS goes out`() async throws {
    let bench = try await Bench(Bench.rules { $0.limits[.sendsPerNumberPer10Minutes] = 1 })
    let first = try await bench.start(requester: "a", ip: "192.0.2.1")
    #expect(try bench.jobs().count == 1)
    for _ in 0..<40 {
      #expect(try await bench.start(requester: "a", ip: "192.0.2.1").verificationID == first.verificationID)
      #expect(try bench.jobs().isEmpty)
    }
    bench.clock.advance(by: .seconds(31))
    let refused = try await bench.start(requester: "a", ip: "192.0.2.1")
    #expect(refused.verificationID == first.verificationID && !refused.resent && refused.resendAfter > 500)
    _ = try await bench.ask(CancelVerification(verificationID: first.verificationID))
    let error = try await bench.error(StartVerification(phoneNumber: Bench.number, app: Bench.app, requester: "b"))
    #expect(error.code == .tooManyAttempts && error.retryAfter != nil && !error.message.contains("1 messages"))
  }

  @Test func `An app may have gaps of its own`() async throws {
    let bench = try await Bench(Bench.rules { $0.apps[Bench.app]?.resendGaps = [.seconds(10), .seconds(20)] })
    let first = try await bench.start(requester: "a")
    #expect(first.resendAfter == 10)
    bench.clock.advance(by: .seconds(10))
    let again = try await bench.start(requester: "a")
    #expect(again.resent && again.resendAfter == 20 && again.verificationID == first.verificationID)
  }

  @Test func `Another requester gets an ID of its own, no SMS before the gap, and cannot touch the first`() async throws
  {
    let mine = try await bench.start(requester: "a")
    let code = try #require(try bench.jobs().first?.code)
    bench.clock.advance(by: .seconds(10))
    let theirs = try await bench.start(requester: "b")
    #expect(theirs.verificationID != mine.verificationID)
    #expect(!theirs.resent && theirs.resendAfter == 20 && theirs.expiresAt == mine.expiresAt)
    #expect(try bench.jobs().isEmpty)
    #expect(bench.events() == ["verification.started"])

    #expect(try await checkError(bench, theirs.verificationID, Bench.wrong(code)).attemptsLeft == 1)
    #expect(try await checkError(bench, theirs.verificationID, Bench.wrong(code)).code == .tooManyAttempts)
    #expect(try await checkError(bench, theirs.verificationID, code).retryAfter == 290)
    _ = try await bench.ask(CancelVerification(verificationID: theirs.verificationID))
    #expect(bench.events() == ["verification.canceled"])
    #expect(try await bench.status(theirs.verificationID).state == .canceled)
    #expect(
      try await bench.status(theirs.verificationID).timeline.map(\.event) == [
        "started", "check.wrong", "check.wrong", "check.refused", "canceled",
      ])
    #expect(try await bench.status(mine.verificationID).timeline.map(\.event) == ["started", "sms.queued"])
    #expect(try await bench.check(mine.verificationID, code).type == "verification.approved.v1")
    #expect(try await checkError(bench, theirs.verificationID, code).code == .sessionExpired)
  }

  @Test func `Whose handle brings the code back is approved; the other one has expired and learns nothing`()
    async throws
  {
    let first = try await bench.start(requester: "a")
    let code = try #require(try bench.jobs().first?.code)
    let second = try await bench.start(requester: "b")
    let reply = try await bench.check(second.verificationID, code)
    let approved = try VerificationApproved(json: reply.body)
    #expect(approved.verificationID == second.verificationID && !approved.testNumber && approved.purpose == .signIn)
    let events = bench.sink.published.filter { $0.exchange == Topology.Exchanges.events }
    #expect(events.map(\.routingKey) == ["verification.approved", "verification.expired"])
    #expect(events.map(\.message.correlationID) == [second.verificationID, first.verificationID])
    #expect(try await bench.status(first.verificationID).state == .expired)
    #expect(try await bench.status(second.verificationID).state == .approved)
    let used = try await checkError(bench, second.verificationID, code)
    #expect(used.code == .sessionExpired && used.reason == "CODE_USED")
    let guess = try await checkError(bench, second.verificationID, Bench.wrong(code))
    let late = try await checkError(bench, first.verificationID, Bench.wrong(code))
    #expect(guess.reason == nil && guess == late)
    // The number is free again.
    #expect(try await bench.start(requester: "a").verificationID != first.verificationID)
  }

  @Test func `Wrong codes of later handles use up nothing of the number's`() async throws {
    let bench = try await Bench(Bench.rules { $0.limits[.checksPerNumberPerHour] = 2 })
    let mine = try await bench.start(requester: "a")
    let code = try #require(try bench.jobs().first?.code)
    let theirs = try await bench.start(requester: "b")
    for _ in 0..<2 { _ = try await checkError(bench, theirs.verificationID, Bench.wrong(code)) }
    _ = try await checkError(bench, mine.verificationID, Bench.wrong(code))
    #expect(try await bench.check(mine.verificationID, code).type == "verification.approved.v1")
  }

  @Test func `A code has room for so many requesters; one more is told when to come again`() async throws {
    for index in 1...12 { _ = try await bench.start(requester: "r\(index)") }
    let command = StartVerification(phoneNumber: Bench.number, app: Bench.app, requester: "one more")
    let error = try await bench.error(command)
    #expect(error.code == .tooManyAttempts && error.reason == "TOO_MANY_REQUESTERS" && error.retryAfter == 300)
    #expect(try await bench.store.count(VerificationRecords.handle) == 11)
    bench.clock.advance(by: .seconds(300))
    #expect(try await bench.start(requester: "one more").resendAfter == 30)
    bench.clock.advance(by: bench.rules.retention)
    _ = try await bench.sweep()
    #expect(try await bench.store.count(VerificationRecords.handle) == 0)
  }

  @Test func `A code that nobody has guesses left for ends when somebody asks again; a limit keeps it as it is`()
    async throws
  {
    let bench = try await Bench(Bench.rules { $0.limits[.sendsPerNumberPer10Minutes] = 2 })
    let mine = try await bench.start(requester: "a")
    let code = try #require(try bench.jobs().first?.code)
    let theirs = try await bench.start(requester: "b")
    for _ in 0..<2 { _ = try await checkError(bench, theirs.verificationID, Bench.wrong(code)) }
    for _ in 0..<5 { _ = try await checkError(bench, mine.verificationID, Bench.wrong(code)) }
    #expect(try await bench.status(theirs.verificationID).state == .sending)
    let fresh = try await bench.start(requester: "b")
    #expect(fresh.verificationID != theirs.verificationID)
    let second = try #require(try bench.jobs().first?.code)
    #expect(try await bench.status(theirs.verificationID).state == .expired)
    #expect(try await bench.count("verification") == 2)
    // Now "b" is the first, and has five.
    let other = try await bench.start(requester: "a")
    for _ in 0..<2 { _ = try await checkError(bench, other.verificationID, Bench.wrong(second)) }
    for _ in 0..<5 { _ = try await checkError(bench, fresh.verificationID, Bench.wrong(second)) }
    let refused = try await bench.start(requester: "a")
    #expect(refused.verificationID == other.verificationID && !refused.resent && refused.resendAfter > 500)
    #expect(
      try await bench.error(StartVerification(phoneNumber: Bench.number, app: Bench.app, requester: "c")).code
        == .tooManyAttempts)
    #expect(try await bench.status(other.verificationID).state == .sending)
  }

  @Test func `A requester that canceled and asks again has the same handle, however often`() async throws {
    let mine = try await bench.start(requester: "a")
    let code = try #require(try bench.jobs().first?.code)
    _ = try await bench.start(requester: "b")
    var events: [String] = []
    var again = mine
    for _ in 0..<20 {
      _ = bench.sink.takePublished()
      _ = try await bench.ask(CancelVerification(verificationID: mine.verificationID))
      events += bench.eventIDs()
      #expect(try await bench.status(mine.verificationID).state == .canceled)
      _ = bench.sink.takePublished()
      again = try await bench.start(requester: "a")
      events += bench.eventIDs()
      #expect(again.verificationID == mine.verificationID && !again.resent)
      #expect(try bench.jobs().isEmpty)
    }
    #expect(
      events.prefix(3).map { $0.dropFirst(mine.verificationID.count) } == [".canceled", ".started.2", ".canceled.2"])
    #expect(events.count == 40 && Set(events).count == 40)
    #expect(try await bench.store.count(VerificationRecords.handle) == 1)
    for left in [4, 3, 2, 1] {
      #expect(try await checkError(bench, again.verificationID, Bench.wrong(code)).attemptsLeft == left)
    }
    #expect(try await bench.check(again.verificationID, code).type == "verification.approved.v1")
  }

  @Test func `In the last minute of its time a code is not taken from others`() async throws {
    let mine = try await bench.start(requester: "a")
    var code = try #require(try bench.jobs().first?.code)
    bench.clock.advance(by: .seconds(299))
    code = try #require(try await bench.start(requester: "a").resent ? code : nil)
    bench.clock.advance(by: .seconds(256))
    let theirs = try await bench.start(requester: "b")
    #expect(theirs.resendAfter == 44 && theirs.verificationID != mine.verificationID)
    #expect(try bench.jobs().isEmpty)
    #expect(try await bench.check(mine.verificationID, code).type == "verification.approved.v1")
  }

  // MARK: Purposes and subjects

  @Test func `A number has a code for each purpose and subject, and a check says which one it means`() async throws {
    let signIn = try await bench.start()
    let code = try #require(try bench.jobs().first?.code)
    #expect(signIn.purpose == nil)
    let factor = try await bench.start(purpose: .secondFactorSignIn, subject: "account 1")
    #expect(factor.purpose == .secondFactorSignIn)
    let second = try #require(try bench.jobs().first?.code)
    let other = try await bench.start(purpose: .secondFactorSignIn, subject: "account 2")
    let enrollment = try await bench.start(purpose: .secondFactorEnrollment, subject: "account 1")
    #expect(Set([signIn, factor, other, enrollment].map(\.verificationID)).count == 4)

    for (check, field) in [
      (CheckVerification(signIn.verificationID, code, app: "b"), "app"),
      (CheckVerification(signIn.verificationID, code, purpose: .secondFactorSignIn), "purpose"),
      (CheckVerification(signIn.verificationID, code, subject: "s"), "subject"),
      (
        CheckVerification(factor.verificationID, second, purpose: .secondFactorSignIn, subject: "account 2"),
        "subject"
      ),
    ] {
      let error = try await bench.error(check)
      #expect(error.code == .invalidSessionInfo && error.field == field)
    }
    // An empty field says nothing, as in a start.
    let empty = CheckVerification(signIn.verificationID, Bench.wrong(code), app: "", subject: "")
    #expect(try await bench.error(empty).attemptsLeft == 4)
    // Nothing else was counted.
    #expect(try await checkError(bench, signIn.verificationID, Bench.wrong(code)).attemptsLeft == 3)
    let approved = try await bench.reply(
      to: CheckVerification(
        factor.verificationID, second, app: Bench.app, purpose: .secondFactorSignIn, subject: "account 1"))
    #expect(approved.purpose == .secondFactorSignIn && approved.subject == "account 1" && approved.app == Bench.app)
    #expect(try await bench.status(other.verificationID).purpose == .secondFactorSignIn)
  }

  @Test func `Accounts starts no second factor of an app whose callers are trusted: they come over HTTP`() async throws
  {
    let command = StartVerification(
      phoneNumber: Bench.number, app: Bench.app, purpose: .secondFactorEnrollment, subject: "account")
    #expect(try await bench.error(command, user: "accounts").reason == "TRUSTED_OVER_HTTP")
    #expect(try await bench.count("verification") == 0)
    #expect(try await bench.ask(command, user: "service").type == "verification.started.v1")
  }

  @Test func `Codes of second factors are neither started nor checked for a gateway`() async throws {
    let bench = try await Bench(Bench.rules { $0.gateways = ["gateway"] })
    let command = StartVerification(
      phoneNumber: Bench.number, app: Bench.recaptchaApp, purpose: .secondFactorSignIn, subject: "account")
    let refused = try await bench.error(command, user: "gateway")
    #expect(refused.code == .operationNotAllowed && refused.reason == "FACTOR_OVER_HTTP")
    #expect(try await bench.count("verification") == 0)
    let started = try await bench.start(purpose: .secondFactorSignIn, subject: "account")
    let code = try #require(try bench.jobs().first?.code)
    for text in [code, Bench.wrong(code)] {
      let error = try await bench.error(CheckVerification(started.verificationID, text), user: "gateway")
      #expect(error.code == .invalidSessionInfo && error.field == "purpose")
    }
    _ = try await bench.reply(to: CheckVerification(started.verificationID, code), user: "accounts")
  }

  @Test(
    arguments: [
      (StartVerification(phoneNumber: Bench.number, app: Bench.app, subject: "s"), "subject"),
      (StartVerification(phoneNumber: Bench.number, app: Bench.app, purpose: .secondFactorSignIn), "subject"),
      (
        StartVerification(
          phoneNumber: Bench.number, app: Bench.app, purpose: .secondFactorEnrollment,
          subject: String(repeating: "x", count: 129)), "subject"
      ),
      (StartVerification(phoneNumber: Bench.number, app: Bench.app, requester: "a\u{1B}b"), "requester"),
      (
        StartVerification(phoneNumber: Bench.number, app: Bench.app, requester: String(repeating: "é", count: 65)),
        "requester"
      ),
      (
        StartVerification(
          phoneNumber: Bench.number, app: Bench.app,
          client: .init(ip: "192.0.2.1", instance: String(repeating: "x", count: 513))), "client.instance"
      ),
      (
        StartVerification(
          phoneNumber: Bench.number, app: Bench.app,
          proof: .init(recaptchaToken: SecretField(Secret("t")), action: "sign up")), "proof.recaptchaAction"
      ),
      (
        StartVerification(
          phoneNumber: Bench.number, app: Bench.app,
          proof: .init(recaptchaToken: SecretField(Secret("t")), action: String(repeating: "x", count: 101))),
        "proof.recaptchaAction"
      ),
    ] as [(StartVerification, String)])
  func `Fields that cannot be are named`(command: StartVerification, field: String) async throws {
    let error = try await bench.error(command)
    #expect(error.code == .invalidArgument && error.field == field)
    #expect(try await bench.count("verification") == 0)
  }

  @Test func `One message ID is one purpose, subject and requester`() async throws {
    let first = StartVerification(phoneNumber: Bench.number, app: Bench.app, requester: "a")
    #expect(try await bench.ask(first, id: "m").type == "verification.started.v1")
    #expect(try await bench.ask(first, id: "m").type == "verification.started.v1")
    for other in [
      StartVerification(phoneNumber: Bench.number, app: Bench.app, requester: "b"),
      StartVerification(
        phoneNumber: Bench.number, app: Bench.app, purpose: .secondFactorSignIn, subject: "s", requester: "a"),
      StartVerification(phoneNumber: Bench.number, app: Bench.app, client: .init(ip: "192.0.2.1")),
    ] {
      #expect(try await bench.error(other, id: "m").field == "message_id")
    }
  }
}
