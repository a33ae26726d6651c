import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Accounts

@Suite struct RecordConsentTests {
  let bench: AccountsBench

  init() async throws { bench = try await AccountsBench() }

  private func views(_ reply: Message) throws -> [ConsentView] { try ConsentsRecorded(json: reply.body).consents }

  private func events() throws -> [ConsentChanged] {
    try bench.events("account.consentChanged").map { try ConsentChanged(json: $0.message.body) }
  }

  @Test func `A consent is recorded with its text, data and times, shown by look-ups, and told by an event`()
    async throws
  {
    let user = try await bench.signUp("u")
    let given = bench.consent(to: "news", ["email", "phone"], version: "2026-11")
    bench.clock.advance(by: .seconds(60))
    let expected = ConsentView(given, recordedAt: bench.clock.now())
    #expect(try views(try await bench.record([given], idToken: user.idToken)) == [expected])
    let event = try #require(try events().first)
    #expect(event.localID == user.reply.localID && event.purpose == "news" && event.textVersion == "2026-11")
    #expect(event.isGiven && event.changedAt == bench.clock.now())
    #expect(try await bench.lookUp(#require(user.idToken)).get().consents == [expected])
    var selection = AccountSelection()
    selection.localIDs = [try #require(user.reply.localID)]
    #expect(try AccountsFound(json: try await bench.find(selection).body).accounts.first?.consents == [expected])
  }

  @Test func `The same message is answered alike, and the same consent changes nothing`() async throws {
    let user = try await bench.signUp("u")
    let given = bench.consent(["phone"])
    let command = try bench.recording([given], idToken: user.idToken, id: "one")
    let first = try await bench.ask(command, id: "one")
    bench.clock.advance(by: .seconds(5))
    let again = try await bench.ask(command, id: "one")
    #expect(try views(first) == views(again) && events().isEmpty)
    let other = try await bench.record([given], idToken: user.idToken)
    #expect(try views(other) == views(first) && events().isEmpty)
  }

  @Test func `A further consent takes the place of the one of its purpose`() async throws {
    let user = try await bench.signUp("u")
    try await bench.record([bench.consent(["phone"]), bench.consent(to: "news", [])], idToken: user.idToken)
    let reply = try await bench.record([bench.consent(["email"], version: "2")], idToken: user.idToken)
    #expect(try views(reply).map(\.textVersion) == ["2", "1"] && views(reply).first?.data == ["email"])
    #expect(try events().map(\.textVersion) == ["2"])
  }

  @Test func `A revoked consent stays recorded, and sending it once more does not bring it back`() async throws {
    let user = try await bench.signUp("u")
    let given = bench.consent(["phone"])
    try await bench.record([given], idToken: user.idToken)
    bench.clock.advance(by: .seconds(1))
    let revoked = try await bench.record(revoking: ["linking", "unknown"], idToken: user.idToken)
    #expect(try views(revoked).map(\.revokedAt) == [bench.clock.now()])
    #expect(try events().map(\.isGiven) == [false])
    let repeated = try await bench.record([given], idToken: user.idToken)
    #expect(try views(repeated) == views(revoked) && events().isEmpty)
    bench.clock.advance(by: .seconds(1))
    let anew = try await bench.record([bench.consent(["phone"])], idToken: user.idToken)
    #expect(try views(anew).map(\.revokedAt) == [nil] && events().map(\.isGiven) == [true])
  }

  @Test func `What is no consent is refused, and nothing is recorded`() async throws {
    let user = try await bench.signUp("u")
    let now = bench.clock.now()
    let long = String(repeating: "x", count: 65)
    func consent(_ change: (inout Consent) -> Void) -> [Consent] {
      var consent = bench.consent(["phone"])
      change(&consent)
      return [consent]
    }
    let wrong: [[Consent]] = [
      consent { $0.purpose = "" }, consent { $0.purpose = long }, consent { $0.textVersion = long },
      consent { $0.textVersion = "a\nb" }, consent { $0.data = [long] }, consent { $0.data = [""] },
      consent { $0.data = ["phone", "phone"] }, consent { $0.data = (1...17).map(String.init) },
      consent { $0.givenAt = now + IDTokens.maxSkew + .seconds(1) }, consent { $0.givenAt = UnixTime(seconds: 1) },
      consent { _ in } + consent { _ in }, (1...17).map { bench.consent(to: "p\($0)", []) },
    ]
    for (place, consents) in wrong.enumerated() {
      let reply = try await bench.record(consents, idToken: user.idToken)
      #expect(reply.type == ErrorReply.type.text, "\(place)")
      let error = try ErrorReply(json: reply.body).error
      #expect(error.code == .invalidArgument && error.field == "consents", "\(place)")
    }
    for purposes in [[""], [long], (1...17).map { "p\($0)" }] {
      let reply = try await bench.record(revoking: purposes, idToken: user.idToken)
      #expect(try ErrorReply(json: reply.body).error.field == "revokedPurposes")
    }
    let both = try await bench.record([bench.consent([])], revoking: ["linking"], idToken: user.idToken)
    #expect(try code(both) == .invalidArgument)
    #expect(try await bench.account(of: user)?.consents == [])
  }

  @Test func `An account has consents of 16 purposes`() async throws {
    let user = try await bench.signUp("u")
    let most = (1...16).map { bench.consent(to: "p\($0)", []) }
    #expect(try views(try await bench.record(most, idToken: user.idToken)).count == 16)
    let more = try await bench.record([bench.consent(to: "p17", [])], idToken: user.idToken)
    #expect(try ErrorReply(json: more.body).error.field == "consents")
    #expect(try views(try await bench.record([bench.consent(to: "p1", ["x"])], idToken: user.idToken)).count == 16)
  }

  @Test func `An administrator only revokes, which the record of acts shows`() async throws {
    let user = try await bench.signUp("u")
    let localID = try #require(user.reply.localID)
    try await bench.consents(to: "phone", idToken: user.idToken)
    let token = try await bench.access([.writeUsers])
    let giving = try await bench.revoke([], of: localID, by: token, giving: [bench.consent(["email"])])
    #expect(try ErrorReply(json: giving.body).error.field == "consents")
    let revoked = try await bench.revoke(["linking"], of: localID, by: token)
    #expect(try views(revoked).map(\.revokedAt) == [bench.clock.now()] && events().map(\.isGiven) == [false])
    // Nothing is left to revoke.
    #expect(try views(try await bench.revoke(["linking"], of: localID, by: token)) == views(revoked))
    #expect(try code(try await bench.revoke(["linking"], of: "nobody", by: token)) == .userNotFound)
    let acts = try await bench.ask(ListActs(project: AccountsBench.project, limit: 10), user: "operator")
    let rows = try ActsListed(json: acts.body).acts.filter { $0.act == "revokeConsent" }
    #expect(rows.map(\.localID) == [localID] && rows.map(\.by) == [AccountsBench.email()])
  }

  @Test func `Another role, no caller, and two callers are refused`() async throws {
    let user = try await bench.signUp("u")
    let localID = try #require(user.reply.localID)
    let token = try await bench.access([.readUsers])
    #expect(try code(try await bench.revoke(["linking"], of: localID, by: token)) == .insufficientPermission)
    #expect(try code(try await bench.revoke(["linking"], of: localID, by: nil)) == .invalidAccessToken)
    #expect(try code(try await bench.ask(RecordConsent(project: AccountsBench.project))) == .missingIDToken)
    var both = try bench.recording([], idToken: user.idToken, id: "both")
    both.localID = localID
    #expect(try code(try await bench.ask(both, id: "both")) == .invalidArgument)
    #expect(try code(try await bench.record(idToken: Secret("eyJ.a.b"))) == .invalidIDToken)
  }

  @Test func `A user who is imported once more keeps the consents`() async throws {
    let user = try await bench.signUp("u")
    try await bench.consents(to: "phone", idToken: user.idToken)
    let before = try #require(try await bench.account(of: user)).consents
    var fields = UserFields(localID: user.reply.localID)
    fields.displayName = "Ada"
    #expect(try code(try await bench.importing(UserBatch(users: [fields]))) == nil)
    let account = try #require(try await bench.account(of: user))
    #expect(account.displayName == "Ada" && account.consents == before)
  }

  @Test func `Consents go with the account`() async throws {
    let user = try await bench.signUp("u")
    let command = try bench.recording([bench.consent(to: "a-purpose", [])], idToken: user.idToken, id: "one")
    _ = try await bench.ask(command, id: "one")
    #expect(try await bench.account(of: user)?.consents.count == 1)
    _ = try await bench.delete(try #require(user.idToken))
    #expect(try await bench.account(of: user) == nil)
    // Nor does the answer that was recorded hold them.
    #expect(try code(try await bench.ask(command, id: "one")) == .userNotFound)
  }
}
