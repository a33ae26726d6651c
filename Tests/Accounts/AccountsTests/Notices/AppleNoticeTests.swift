import CountersignAMQP
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite("Notifications of Apple", .timeLimit(.minutes(10)))
struct AppleNoticeTests {
  private static let relay = "x7@privaterelay.appleid.com"
  let bench: AccountsBench

  init() async throws {
    bench = try await AccountsBench()
    bench.useLinks()
  }

  private func signIn(
    _ subject: String = "a", email: String? = relay, serial: Int = 0, idToken: Secret? = nil
  ) async throws -> AccountsBench.Answer {
    var token = FakeProvider.Token(subject, email: email)
    (token.serial, token.isRelay) = (serial, email == Self.relay)
    return try await bench.signIn(at: "apple.com", token, idToken: idToken)
  }

  private func later(_ seconds: Int = 10) { bench.clock.advance(by: .seconds(seconds)) }

  @Test(arguments: ["consent-revoked", "account-deleted", "account-delete"])
  func `The end of a consent unlinks the identity and ends its sessions, and keeps the account`(
    kind: String
  ) async throws {
    let user = try await signIn()
    later()
    let noted = try await bench.note(kind, "a")
    #expect(noted.isRepeated == false && noted.effects == [.unlinked])
    let event = try #require(noted.events.first)
    #expect(event.localID == user.reply.localID && event.subject == "a" && event.happenedAt == bench.clock.now())
    #expect(event.kind == (kind == "account-delete" ? "account-deleted" : kind))
    let unlinked = try bench.events("account.unlinked").map { try AccountUnlinked(json: $0.message.body) }
    #expect(unlinked.map(\.provider) == ["apple.com"] && unlinked.first?.localID == user.reply.localID)
    let account = try #require(try await bench.account(of: user))
    #expect(account.identities.isEmpty && !account.hasWayIn)
    #expect(account.validSince == UnixTime(seconds: bench.clock.now().seconds))
    #expect(try await bench.sessions(of: account).isEmpty)
    #expect(try await bench.refusal(of: user.idToken)?.code == .tokenExpired)
    // The user may come back, as a new one.
    let again = try await signIn(serial: 1)
    #expect(again.reply.isNewUser == true && again.reply.localID != user.reply.localID)
  }

  @Test func `As many events as one may have are carried out, each on an account of its own`() async throws {
    let subjects = (0..<AppleNotice.maxEvents).map { "s\($0)" }
    for subject in subjects { _ = try await signIn(subject, email: nil) }
    later()
    let events = subjects.map { subject -> JSONValue in
      ["type": "consent-revoked", "sub": .text(subject), "event_time": .integer(bench.clock.now().milliseconds)]
    }
    let noted = try await bench.note(bench.claims(.array(events)))
    #expect(noted.error == nil && noted.effects == Array(repeating: .unlinked, count: subjects.count))
  }

  @Test func `Sessions by other ways go on`() async throws {
    let user = try await bench.signIn("p")
    _ = try await signIn(idToken: user.idToken)
    let other = try await signIn(serial: 1)
    later()
    #expect(try await bench.note("consent-revoked", "a").effects == [.unlinked])
    #expect(try await bench.refusal(of: user.idToken) == nil)
    #expect(try await bench.refusal(of: other.idToken)?.code == .tokenExpired)
    let account = try #require(try await bench.account(of: user))
    #expect(account.ways == ["phone"])
  }

  @Test func `One from before the last sign-in ends nothing, and the one after it does`() async throws {
    let user = try await signIn()
    later()
    let revoked = bench.clock.now()
    later()
    let again = try await signIn(serial: 1)
    #expect(again.reply.localID == user.reply.localID)
    later()
    let late = try await bench.note("consent-revoked", "a", at: revoked)
    #expect(late.effects == [.none] && late.events.first?.localID == user.reply.localID)
    #expect(bench.events("account.unlinked").isEmpty)
    #expect(try await bench.refusal(of: user.idToken) == nil)
    #expect(try await bench.refusal(of: again.idToken) == nil)
    #expect(try await bench.note("consent-revoked", "a").effects == [.unlinked])
  }

  @Test func `One from before an administrator linked the identity ends nothing`() async throws {
    let user = try await bench.signInWithApple()
    let linked = user.holder.account.createdAt
    #expect(try await bench.note("account-deleted", AccountsBench.subject, at: linked - .seconds(1)).effects == [.none])
    #expect(try await bench.note("account-deleted", AccountsBench.subject, at: linked).effects == [.unlinked])
  }

  @Test func `The same one has its effect once, whichever sign-in has come since`() async throws {
    let user = try await signIn()
    later()
    let claims = bench.claims("email-disabled", "a")
    #expect(try await bench.note(claims).effects == [.mailOff])
    let again = try await bench.note(claims)
    #expect(again.isRepeated == true && again.events.isEmpty)
    // It is remembered for as long as its signature counts.
    bench.clock.advance(by: .seconds(86_400 + 300))
    #expect(try await bench.note(claims).isRepeated == true)
    #expect(try await bench.account(of: user)?.identities.first?.isMailOff == true)
  }

  @Test func `An address whose relay is off gets no mail, until it is on again`() async throws {
    let user = try await signIn()
    func mails() async throws -> [Int] {
      [
        try await bench.sendLink(.verifyAddress, idToken: user.idToken).mails.count,
        try await bench.sendLink(.signIn, to: Self.relay.uppercased()).mails.count,
      ]
    }
    let off = try await bench.note("email-disabled", "a", email: Self.relay)
    #expect(off.effects == [.mailOff] && bench.events("account.updated").isEmpty)
    #expect(try await mails() == [0, 0])
    #expect(try await bench.sendLink(.signIn, to: Self.relay).email == Self.relay)
    #expect(try await bench.sendLink(.signIn, to: AccountsBench.otherAddress).mails.count == 1)
    later()
    #expect(try await bench.note("email-enabled", "a", email: Self.relay).effects == [.mailOn])
    #expect(try await mails() == [1, 1])
  }

  @Test func `The later word on the relay counts, in whichever order they arrive`() async throws {
    let user = try await signIn()
    let off = bench.clock.now()
    later()
    #expect(try await bench.note("email-enabled", "a").effects == [.mailOn])
    #expect(try await bench.note("email-disabled", "a", at: off).effects == [.none])
    #expect(try await bench.account(of: user)?.identities.first?.isMailOff == false)
    // From a clock ahead of ours, it must not block what follows.
    #expect(try await bench.note("email-disabled", "a", at: bench.clock.now() + .seconds(9999)).effects == [.none])
    later()
    #expect(try await bench.note("email-disabled", "a").effects == [.mailOff])
  }

  @Test func `A word on another address changes nothing, and another address starts anew`() async throws {
    let user = try await signIn()
    #expect(try await bench.note("email-disabled", "a", email: "y8@privaterelay.appleid.com").effects == [.none])
    #expect(try await bench.note("email-disabled", "a", email: Self.relay).effects == [.mailOff])
    _ = try await signIn(serial: 1)
    #expect(try await bench.account(of: user)?.identities.first?.isMailOff == true)
    _ = try await signIn(email: "ada@example.com", serial: 2)
    #expect(try await bench.account(of: user)?.identities.first?.isMailOff == false)
    #expect(try await bench.sendLink(.verifyAddress, idToken: user.idToken).mails.count == 1)
  }

  @Test func `An unknown subject, and an unknown type, are stored and change nothing`() async throws {
    let user = try await signIn()
    let unknown = try await bench.note("consent-revoked", "b")
    #expect(unknown.effects == [.none] && unknown.events.first?.localID == nil && unknown.isRepeated == false)
    #expect(try await bench.note("later-word", "a").events.map(\.kind) == ["later-word"])
    #expect(try await bench.refusal(of: user.idToken) == nil)
    // Subjects are of one project.
    #expect(try await bench.account(of: user)?.identities.count == 1)
  }

  @Test func `What is too long, empty or not a notification is refused`() async throws {
    let user = try await signIn()
    let long = bench.claims("consent-revoked", "a", id: String(repeating: "x", count: 16 << 10))
    for payload in [long, "", "x", "{}", #"{"jti":"1","iat":1,"exp":2,"events":"[]"}"#] {
      #expect(try await bench.note(payload).error?.code == .invalidIDPResponse)
    }
    #expect(try await bench.note(bench.claims("consent-revoked", "a"), project: "x").error?.code == .projectNotFound)
    #expect(try await bench.refusal(of: user.idToken) == nil)
  }

  // MARK: Revocations of ours

  /// Has a code of the user revoked.
  private func revoke(on bench: AccountsBench) async throws {
    let (_, idToken) = try await bench.signInWithApple(ago: .seconds(60))
    _ = try await bench.revoke(bench.revoking(idToken, "r"), "r", as: bench.state(.completed, .revoked))
    bench.clock.advance(by: .seconds(10))
  }

  private func confirmations() throws -> [ConfirmRevocation] {
    try bench.checks.filter { $0.routingKey == "revocation.confirm" }.map {
      #expect($0.message.userID == Topology.Users.accounts)
      return try ConfirmRevocation(json: $0.message.body)
    }
  }

  @Test(arguments: ["consent-revoked", "account-deleted"])
  func `The coordinator is told once that Apple confirms a revocation`(kind: String) async throws {
    try await revoke(on: bench)
    let told = bench.clock.now()
    #expect(try await bench.note(kind, AccountsBench.subject).effects == [.unlinked])
    let sent = try bench.request(ConfirmRevocation.self)
    #expect(sent.body == ConfirmRevocation(operationID: "o1", confirmedAt: told))
    // Neither its reply nor a refusal has an effect.
    await bench.report(ScriptedCoordinator.reply(bench.state(.completed, .revoked), to: sent.publication))
    await bench.report(
      ScriptedCoordinator.reply(ErrorReply(APIError(.invalidArgument, "unknown")), to: sent.publication))
    later()
    _ = try await bench.note(kind, AccountsBench.subject)
    #expect(try confirmations() == [])
  }

  @Test func `It is told after the account has gone, and of others' subjects nothing`() async throws {
    let (_, idToken) = try await bench.signInWithApple(ago: .zero)
    _ = try await bench.revoke(bench.revoking(idToken, "r"), "r", as: bench.state(.completed, .revoked))
    #expect(try await bench.delete(idToken).type == AccountDeleted.type.text)
    later()
    for (kind, subject) in [("consent-revoked", "other"), ("email-disabled", AccountsBench.subject)] {
      _ = try await bench.note(kind, subject)
      #expect(try confirmations() == [])
    }
    #expect(try await bench.note("consent-revoked", AccountsBench.subject).effects == [.none])
    #expect(try confirmations().map(\.operationID) == ["o1"])
  }

  @Test func `What ends a later consent confirms nothing, and what ended the former one does`() async throws {
    for isLate in [false, true] {
      let bench = try await AccountsBench()
      try await revoke(on: bench)
      let former = bench.clock.now()
      bench.clock.advance(by: .seconds(10))
      #expect(try await bench.signIn(at: "apple.com", FakeProvider.Token(AccountsBench.subject)).error == nil)
      bench.clock.advance(by: .seconds(10))
      let time = isLate ? former : bench.clock.now()
      let noted = try await bench.note("consent-revoked", AccountsBench.subject, at: time)
      #expect(noted.effects == [isLate ? .none : .unlinked])
      #expect(bench.checks.filter { $0.routingKey == "revocation.confirm" }.count == (isLate ? 1 : 0))
    }
  }

  @Test func `Of a token whose subject nobody has proven nothing is confirmed`() async throws {
    let (_, idToken) = try await bench.signInWithApple(ago: .seconds(60))
    let command = try bench.revoking(idToken, "r", token: "refresh", kind: .refreshToken)
    _ = try await bench.revoke(command, "r", as: bench.state(.completed, .revoked))
    later()
    _ = try await bench.note("consent-revoked", AccountsBench.subject)
    #expect(try confirmations() == [])
  }

  // MARK: Accounts without a way in

  private func deletesAccounts() {
    bench.usePages { $0.withoutWayIn = .delete }
  }

  @Test(arguments: ["consent-revoked", "account-deleted"])
  func `An account that Apple leaves without a way in is deleted, where the project has it so`(
    kind: String
  ) async throws {
    deletesAccounts()
    let user = try await signIn()
    later()
    let noted = try await bench.note(kind, "a")
    #expect(noted.effects == [.deleted] && noted.events.first?.localID == user.reply.localID)
    #expect(bench.events("account.deleted").count == 1 && bench.events("account.unlinked").isEmpty)
    let erased = try #require(bench.events("account.erased").first)
    let event = try AccountErased(json: erased.message.body)
    #expect(event.apple == .revoked && event.mail == .told && event.coordinator == nil)
    #expect(try await bench.account(of: user) == nil)
    #expect(try await bench.refusal(of: user.idToken)?.code == .userNotFound)
    // The same again, or another word, has no account left.
    later()
    #expect(try await bench.note("account-deleted", "a").effects == [.none])
    let again = try await signIn(serial: 1)
    #expect(again.reply.isNewUser == true && again.reply.localID != user.reply.localID)
  }

  @Test func `Accounts that others made or disabled, or that have another way or an address, stay`() async throws {
    deletesAccounts()
    let changes: [@Sendable (inout AccountRecord) -> Void] = [
      { $0.isSelfMade = false }, { $0.isDisabled = true }, { $0.phoneNumber = AccountsBench.number },
      { $0.email = AccountsBench.otherAddress },
    ]
    for (number, change) in changes.enumerated() {
      let user = try await signIn("s\(number)", email: nil)
      let account = try #require(try await bench.account(of: user))
      #expect(account.isSelfMade)
      try await bench.change(account) { account, _ in change(&account) }
      later()
      #expect(try await bench.note("consent-revoked", "s\(number)").effects == [.unlinked], "\(number)")
      #expect(try await bench.account(of: user)?.identities == [])
    }
  }

  @Test func `A user who unlinks the last way keeps the account`() async throws {
    deletesAccounts()
    let user = try await signIn()
    #expect(try await bench.unlink("apple.com", idToken: user.idToken).type == AccountChanged.type.text)
    later()
    #expect(try await bench.note("consent-revoked", "a").effects == [.none])
    #expect(try await bench.account(of: user)?.hasWayIn == false)
  }
}
