import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Accounts

@Suite struct UsersTests {
  private func user(_ localID: String? = "ada", _ change: (inout UserFields) -> Void = { _ in }) -> UserFields {
    var user = UserFields(localID: localID)
    change(&user)
    return user
  }

  private func view(_ reply: CountersignAMQP.Message) throws -> AccountView {
    try AccountChanged(json: reply.body).account
  }

  private func acts(_ bench: AccountsBench) async throws -> [AdministratorActed] {
    let reply = try await bench.ask(ListActs(project: AccountsBench.project, limit: 200), user: "operator")
    return try ActsListed(json: reply.body).acts
  }

  @Test func `An administrator makes an account with what it is given, once`() async throws {
    let bench = try await AccountsBench()
    let token = try await bench.access([.writeUsers])
    let fields = user { user in
      (user.email, user.emailVerified, user.displayName) = ("Ada@example.com", true, "Ada")
      (user.phoneNumber, user.customAttributes) = ("+16505550199", #"{"admin": true}"#)
      user.identities = [UserIdentity(providerID: "apple.com", subject: "001")]
    }
    let made = try view(try await bench.create(fields, by: .token(token)))
    #expect(made.localID == "ada" && made.email == "Ada@example.com" && made.emailVerified == true)
    #expect(made.phoneNumber == "+16505550199" && made.customAttributes == #"{"admin":true}"#)
    #expect(made.identities?.map(\.subject) == ["001"] && made.displayName == "Ada")
    let event = try AdministratorActed(json: try #require(bench.events("account.administered").first).message.body)
    #expect(event.by == AccountsBench.email() && event.act == "create" && event.localID == "ada")
    #expect(bench.events("account.created").count == 1)
    #expect(try code(try await bench.create(fields)) == .duplicateLocalID)
    let others: [(UserFields, APIErrorCode)] = [
      (user("b") { $0.email = "ADA@example.com" }, .emailExists),
      (user("b") { $0.phoneNumber = "+16505550199" }, .phoneNumberExists),
      (user("b") { $0.identities = [UserIdentity(providerID: "apple.com", subject: "001")] }, .identityAlreadyLinked),
    ]
    for (other, expected) in others { #expect(try code(try await bench.create(other)) == expected) }
    #expect(try await bench.find("b") == nil)
    let unnamed = try view(try await bench.create(user(nil)))
    #expect(unnamed.localID.utf8.count == AccountRecord.randomLength)
  }

  @Test func `Fields that are wrong are refused by their names`() async throws {
    let bench = try await AccountsBench()
    let wrong: [(String, UserFields, APIErrorCode)] = [
      ("empty ID", user(""), .invalidLocalID),
      ("long ID", user(String(repeating: "ü", count: 65)), .invalidLocalID),
      ("address", user { $0.email = "nobody" }, .invalidEmail),
      ("number", user { $0.phoneNumber = "0650" }, .invalidPhoneNumber),
      ("claims", user { $0.customAttributes = "[1]" }, .invalidClaims),
      ("broken claims", user { $0.customAttributes = "{" }, .invalidClaims),
      ("repeated claim", user { $0.customAttributes = #"{"a":1,"a":2}"# }, .invalidClaims),
      ("reserved claim", user { $0.customAttributes = #"{"iss":"x"}"# }, .forbiddenClaim),
      (
        "large claims", user { $0.customAttributes = #"{"a":"\#(String(repeating: "x", count: 1_000))"}"# },
        .claimsTooLarge
      ),
      ("picture", user { $0.photoURL = "javascript:alert(1)" }, .invalidArgument),
      ("provider", user { $0.identities = [UserIdentity(providerID: "x", subject: "1")] }, .invalidArgument),
      (
        "twice", user { $0.identities = ["1", "2"].map { UserIdentity(providerID: "apple.com", subject: $0) } },
        .invalidArgument
      ),
    ]
    for (name, fields, expected) in wrong {
      #expect(try code(try await bench.create(fields)) == expected, "\(name)")
      if name.hasSuffix("ID") { continue }
      #expect(try code(try await bench.change(fields)) == expected, "\(name)")
    }
    #expect(try code(try await bench.create(user(String(repeating: "ü", count: 64)))) == nil)
    #expect(try code(try await bench.change(user(nil))) == .missingLocalID)
    #expect(try code(try await bench.change(user("nobody"))) == .userNotFound)
  }

  @Test func `A disabled account is refused everywhere and keeps its sessions`() async throws {
    let bench = try await AccountsBench()
    let signedIn = try await bench.signIn("a")
    let localID = try #require(signedIn.reply.localID)
    #expect(try view(try await bench.change(user(localID) { $0.disabled = true })).disabled)
    #expect(try await bench.refusal(of: signedIn.idToken)?.code == .userDisabled)
    #expect(try await bench.signIn("b").error?.code == .userDisabled)
    #expect(try code(try await bench.change(user(localID) { $0.disabled = false })) == nil)
    #expect(try await bench.refusal(of: signedIn.idToken) == nil)
  }

  @Test func `validSince ends the sessions from before, never goes back, and is not in the future`() async throws {
    let bench = try await AccountsBench()
    let signedIn = try await bench.signIn("a")
    let localID = try #require(signedIn.reply.localID)
    bench.clock.advance(by: .seconds(10))
    let since = bench.clock.now()
    _ = try await bench.change(user(localID) { $0.validSince = since + .seconds(86_400) })
    #expect(try await bench.find(localID)?.validSince == UnixTime(seconds: since.seconds))
    #expect(try await bench.refusal(of: signedIn.idToken)?.code == .tokenExpired)
    _ = try await bench.change(user(localID) { $0.validSince = UnixTime(seconds: 0) })
    #expect(try await bench.find(localID)?.validSince == UnixTime(seconds: since.seconds))
    #expect(try await bench.signIn("b").error == nil)
  }

  @Test func `A number that is taken from an account ends the sessions that it began`() async throws {
    let bench = try await AccountsBench()
    let signedIn = try await bench.signIn("a")
    let localID = try #require(signedIn.reply.localID)
    let changed = try view(try await bench.change(user(localID) { $0.deleteProviders = ["phone"] }))
    #expect(changed.phoneNumber == nil)
    #expect(try await bench.refusal(of: signedIn.idToken)?.code == .tokenExpired)
  }

  @Test func `A new address is unverified unless said, and ends all sessions`() async throws {
    let bench = try await AccountsBench()
    let signedIn = try await bench.signIn("a")
    let localID = try #require(signedIn.reply.localID)
    let changed = try view(
      try await bench.change(user(localID) { ($0.email, $0.emailVerified) = ("ada@example.com", true) }))
    #expect(changed.emailVerified == true)
    bench.clock.advance(by: .seconds(1))
    #expect(try await bench.refusal(of: signedIn.idToken)?.code == .tokenExpired)
    let again = try view(try await bench.change(user(localID) { $0.email = "eve@example.com" }))
    #expect(again.emailVerified == false && again.initialEmail == "ada@example.com")
    let without = try view(try await bench.change(user(localID) { $0.deleteAttributes = ["EMAIL"] }))
    #expect(without.email == nil)
  }

  @Test func `Accounts are found by everything that is theirs, once each, and by nothing else`() async throws {
    let bench = try await AccountsBench()
    _ = try await bench.create(
      user { user in
        (user.email, user.phoneNumber) = ("ada@example.com", "+16505550199")
        user.identities = [UserIdentity(providerID: "apple.com", subject: "001")]
      })
    var selection = AccountSelection()
    selection.localIDs = ["ada", "nobody"]
    selection.emails = ["ADA@example.com", String(repeating: "x", count: 5_000)]
    selection.phoneNumbers = ["+16505550199", String(repeating: "1", count: 200)]
    selection.identities = [UserIdentity(providerID: "apple.com", subject: "001")]
    let found = try AccountsFound(json: try await bench.find(selection).body)
    #expect(found.accounts.map(\.localID) == ["ada"] && found.next == nil)
    selection.localIDs = Array(repeating: "a", count: 101)
    #expect(try code(try await bench.find(selection)) == .invalidArgument)
  }

  @Test func `A list pages through all accounts of the project, each once, within the size of a message`() async throws
  {
    let bench = try await AccountsBench()
    let photo = "https://example.com/" + String(repeating: "p", count: 2_000)
    for index in 0..<60 { _ = try await bench.create(user("user-\(index)") { $0.photoURL = photo }) }
    _ = try await bench.create(user("other"), project: AccountsBench.otherProject)
    var (all, after, pages) = ([String](), String?.none, 0)
    repeat {
      let found = try AccountsFound(json: try await bench.list(50, after: after).body)
      all += found.accounts.map(\.localID)
      (after, pages) = (found.next, pages + 1)
    } while after != nil
    #expect(Set(all) == Set((0..<60).map { "user-\($0)" }) && all.count == 60 && pages >= 3)
    for limit in [0, 1_001, -1] { #expect(try code(try await bench.list(limit)) == .invalidArgument) }
    try await count(bench, all)
    #expect(try code(try await bench.list(1, after: "not a place")) == .invalidArgument)
  }

  private func count(_ bench: AccountsBench, _ all: [String]) async throws {
    let page = try AccountsFound(json: try await bench.list(10).body)
    var command = ListAccounts(project: AccountsBench.project, limit: 1)
    command.countsOnly = true
    for (after, expected) in [(nil, all.count), (page.next, all.count - page.accounts.count)] {
      command.after = after
      let found = try AccountsFound(json: try await bench.ask(command, user: AccountsBench.administrator).body)
      #expect(found.count == expected && found.accounts.isEmpty && found.next == nil)
    }
    #expect(try await bench.error(command).code == .invalidAccessToken)
    command.replyKey = bench.replyKey.publicKey.jwk
    #expect(try await bench.error(command, user: AccountsBench.administrator).code == .invalidArgument)
  }

  @Test func `Accounts are deleted when they are disabled, or all the same if forced`() async throws {
    let bench = try await AccountsBench()
    _ = try await bench.create(user("on"))
    _ = try await bench.create(user("off") { $0.disabled = true })
    let refused = try AccountsRemoved(json: try await bench.remove(["on", "off", "nobody", "off"]).body).refused
    #expect(refused.map(\.index) == [0, 2, 3])
    #expect(refused.map { String($0.message.prefix(13)) } == ["NOT_DISABLED ", "USER_NOT_FOUN", "USER_NOT_FOUN"])
    #expect(try await bench.find("off") == nil)
    #expect(bench.events("account.deleted").count == 1)
    #expect(try AccountsRemoved(json: try await bench.remove(["on"], isForced: true).body).refused.isEmpty)
    #expect(try await bench.find("on") == nil)
    #expect(try code(try await bench.change(user("on"))) == .userNotFound)
    let many = Array(repeating: "on", count: RemoveAccounts.maxAccounts + 1)
    #expect(try code(try await bench.remove(many)) == .invalidArgument)
  }

  @Test func `A command that names nobody has its caller checked, and is on no record`() async throws {
    let bench = try await AccountsBench()
    #expect(try AccountsFound(json: try await bench.find(AccountSelection()).body).accounts == [])
    #expect(try AccountsRemoved(json: try await bench.remove([]).body).refused == [])
    #expect(try AccountsImported(json: try await bench.importing(UserBatch(users: [])).body).refused == [])
    let nobody = AccountsBench.Bearer.token(Secret("wrong"))
    #expect(try code(try await bench.find(AccountSelection(), by: nobody)) == .invalidAccessToken)
    #expect(try code(try await bench.remove([], by: nobody)) == .invalidAccessToken)
    #expect(try code(try await bench.importing(UserBatch(users: []), by: nobody)) == .invalidAccessToken)
    #expect(try await acts(bench) == [])
  }

  @Test func `Each act is on record, the latest first, page by page`() async throws {
    let bench = try await AccountsBench()
    _ = try await bench.create(user("a"))
    bench.clock.advance(by: .seconds(1))
    _ = try await bench.change(user("a") { $0.disabled = true })
    bench.clock.advance(by: .seconds(1))
    _ = try await bench.remove(["a"])
    bench.clock.advance(by: .seconds(1))
    _ = try await bench.settings { $0.protectsAddresses = true }
    _ = try await bench.settings()
    _ = try await bench.list()
    let acts = try await acts(bench)
    #expect(acts.map(\.act) == ["settings", "remove", "change", "create"])
    #expect(acts.map(\.localID) == [nil, "a", "a", "a"] && acts.allSatisfy { $0.by == "operator" })
    var (paged, after) = ([String](), String?.none)
    repeat {
      var command = ListActs(project: AccountsBench.project, limit: 3)
      command.after = after
      let page = try ActsListed(json: try await bench.ask(command, user: "operator").body)
      paged += page.acts.map(\.act)
      after = page.next
    } while after != nil
    #expect(paged == acts.map(\.act))
  }

  @Test func `Each user that a batch deletes is an act`() async throws {
    let bench = try await AccountsBench()
    for localID in ["a", "b", "c"] { _ = try await bench.create(user(localID)) }
    _ = try await bench.remove(["a", "nobody", "b", "a"], isForced: true)
    #expect(bench.events("account.administered").count == 2)
    let removed = try await acts(bench).filter { $0.act == "remove" }
    #expect(removed.compactMap(\.localID).sorted() == ["a", "b"])
  }

  @Test func `A command that comes again is carried out once, and answered alike`() async throws {
    let bench = try await AccountsBench()
    let command = CreateAccount(
      project: AccountsBench.project, user: try bench.sealed(user().text(), for: CreateAccount.self, "again"))
    let first = try await bench.ask(command, id: "again", user: "operator")
    let second = try await bench.ask(command, id: "again", user: "operator")
    #expect(try view(first) == view(second))
    #expect(try await acts(bench).count == 1)
  }
}
