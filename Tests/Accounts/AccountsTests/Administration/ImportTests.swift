import CommandEngine
import CountersignAMQP
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Accounts

@Suite struct ImportTests {
  fileprivate func user(_ localID: String?, _ change: (inout UserFields) -> Void = { _ in }) -> UserFields {
    var user = UserFields(localID: localID)
    change(&user)
    return user
  }

  fileprivate func refused(_ reply: Message) throws -> [RefusedUser] { try AccountsImported(json: reply.body).refused }

  private func count(_ bench: AccountsBench) async throws -> Int {
    try AccountsFound(json: try await bench.list(1_000).body).accounts.count
  }

  @Test func `Imported users keep ID, ways to sign in, claims and times`() async throws {
    let bench = try await AccountsBench()
    let now = bench.clock.now()
    let (createdAt, lastLoginAt) = (now - .seconds(90_000), now - .seconds(80_000))
    let batch = UserBatch(users: [
      user("ada") { user in
        (user.email, user.emailVerified, user.phoneNumber) = ("ada@example.com", true, "+16505550123")
        (user.createdAt, user.lastLoginAt, user.customAttributes) = (createdAt, lastLoginAt, #"{"a":1}"#)
        user.identities = ["google.com", "password", "phone"].map { UserIdentity(providerID: $0, subject: "g-1") }
      }
    ])
    #expect(try refused(try await bench.importing(batch)).isEmpty)
    let account = try #require(try await bench.find("ada"))
    #expect(account.createdAt == createdAt && account.lastLoginAt == lastLoginAt && account.claims == #"{"a":1}"#)
    #expect(account.ways == ["google.com", "phone"] && account.isEmailVerified)
    #expect(bench.events("account.created").isEmpty && bench.events("account.administered").count == 1)
    #expect(try await bench.signIn("a").reply.localID == "ada")
    #expect(try await bench.signIn(at: "google.com", FakeProvider.Token("g-1")).reply.localID == "ada")
  }

  @Test func `A row that is wrong is refused alone, and says nothing of another's values`() async throws {
    let bench = try await AccountsBench()
    _ = try await bench.create(user("known") { ($0.email, $0.phoneNumber) = ("known@example.com", "+16505550100") })
    let batch = UserBatch(users: [
      user("one") { $0.email = "same@example.com" },
      user("two") { $0.email = "SAME@example.com" },
      user("three") { $0.phoneNumber = "+16505550100" },
      user("four") { $0.email = "known@example.com" },
      user("one"),
      user(nil),
      user("five") { $0.password = "in the clear" },
      user("six") { $0.customAttributes = "{" },
      user("seven"),
    ])
    let refused = try refused(try await bench.importing(batch))
    #expect(refused.map(\.index) == [1, 2, 3, 4, 5, 6, 7])
    #expect(
      refused.map { String($0.message.prefix { $0 != " " }) } == [
        "EMAIL_EXISTS", "PHONE_NUMBER_EXISTS", "EMAIL_EXISTS", "DUPLICATE_LOCAL_ID", "MISSING_LOCAL_ID",
        "INVALID_ARGUMENT", "INVALID_CLAIMS",
      ])
    #expect(refused[3].message == "DUPLICATE_LOCAL_ID : an earlier row has the ID")
    #expect(refused.allSatisfy { !$0.message.contains("example.com") && !$0.message.contains("+1") })
    #expect(try await count(bench) == 3)
  }

  @Test func `A batch that was interrupted has each user once, in whatever order it comes again`() async throws {
    let bench = try await AccountsBench()
    let users = (0..<100).map { index in
      user("user-\(index)") { user in
        (user.email, user.createdAt) = ("user-\(index)@example.com", UnixTime(seconds: 1_000 + Int64(index)))
        user.identities = [UserIdentity(providerID: "google.com", subject: "\(index)")]
      }
    }
    #expect(try refused(try await bench.importing(UserBatch(users: Array(users[..<60])), id: "first")).isEmpty)
    let before = try await bench.find("user-5")
    bench.clock.advance(by: .seconds(60))
    for users in [users, users.reversed()] {
      #expect(try refused(try await bench.importing(UserBatch(users: users))).isEmpty)
    }
    #expect(try await count(bench) == 100)
    #expect(try await bench.find("user-5") == before)
  }

  @Test func `An account that is there is replaced, or stays if the batch says so`() async throws {
    let bench = try await AccountsBench()
    let signedIn = try await bench.signIn("a")
    let localID = try #require(signedIn.reply.localID)
    var batch = UserBatch(users: [user(localID) { $0.displayName = "Ada" }])
    batch.keepsExisting = true
    let kept = try refused(try await bench.importing(batch))
    #expect(kept.map(\.index) == [0] && kept.allSatisfy { $0.message.hasPrefix("DUPLICATE_LOCAL_ID : ") })
    #expect(try await bench.find(localID)?.phoneNumber == AccountsBench.number)
    batch.keepsExisting = nil
    #expect(try refused(try await bench.importing(batch)).isEmpty)
    let replaced = try #require(try await bench.find(localID))
    #expect(replaced.phoneNumber == nil && replaced.displayName == "Ada")
    #expect(try await bench.signIn("b").reply.localID != localID)
  }

  /// Each of these addresses is one that the store is asked for only when it is known to leave.
  @Test func `Users are replaced who lose the addresses of their identities, a batch of them at once`() async throws {
    let bench = try await AccountsBench()
    let users = (0..<100).map { number in
      user("user-\(number)") { user in
        var identity = UserIdentity(providerID: "google.com", subject: "\(number)")
        identity.email = "google-\(number)@example.com"
        user.identities = [identity]
      }
    }
    #expect(try refused(try await bench.importing(UserBatch(users: users))).isEmpty)
    let without = (0..<100).map { user("user-\($0)") }
    #expect(try refused(try await bench.importing(UserBatch(users: without))).isEmpty)
    #expect(try await bench.find("user-99")?.identities.isEmpty == true)
  }

  @Test func `A batch has at most 100 users, and each is loaded at once`() async throws {
    let bench = try await AccountsBench()
    let users = (0..<101).map { user("user-\($0)") }
    #expect(try code(try await bench.importing(UserBatch(users: users))) == .invalidArgument)
    #expect(try refused(try await bench.importing(UserBatch(users: Array(users.dropLast())))).isEmpty)
    #expect(bench.store.rounds.last == 1)
  }
}

extension ImportTests {
  /// SHA-256 of salt and password, once.
  private func hashed(_ password: String) -> String {
    Base64.encode(SHA256.hash(Array(password.utf8)))
  }

  private var sha256: HashParameters {
    var parameters = HashParameters(hashAlgorithm: "SHA256")
    parameters.rounds = 1
    return parameters
  }

  @Test func `Imported hashes are exported under the role for it, and come back as they are`() async throws {
    let bench = try await AccountsBench()
    var batch = UserBatch(users: [
      user("ada") { ($0.email, $0.passwordHash) = ("ada@example.com", hashed("correct horse")) },
      user("eve") { ($0.email, $0.passwordHash) = ("eve@example.com", "not base64!") },
    ])
    batch.hash = sha256
    #expect(try refused(try await bench.importing(batch)).map(\.index) == [1])
    let changedAt = try await bench.find("ada")?.passwordChangedAt
    #expect(changedAt != nil)
    bench.clock.advance(by: .seconds(60))
    #expect(try refused(try await bench.importing(batch)).map(\.index) == [1])
    #expect(try await bench.find("ada")?.passwordChangedAt == changedAt)
    var entries: [PasswordHashes.Entry] = []
    for id in ["x1", "x2"] {
      let found = try AccountsFound(json: try await bench.list(withHashes: true, id: id).body)
      entries = try PasswordHashes(
        text: bench.opened(try #require(found.hashes), AccountsFound.type, id: id)
      ).entries
    }
    #expect(entries.map(\.localID) == ["ada"])
    var again = UserBatch(users: [
      user("bob") { ($0.email, $0.passwordHash) = ("bob@example.com", Base64.encode(Array(entries[0].stored.utf8))) }
    ])
    again.hash = HashParameters(hashAlgorithm: "COUNTERSIGN")
    #expect(try refused(try await bench.importing(again)).isEmpty)
    let acts = try ActsListed(
      json: try await bench.ask(ListActs(project: AccountsBench.project, limit: 10), user: "operator").body
    ).acts
    // Both exports are of one hour.
    #expect(acts.map(\.act).sorted() == ["export", "import", "import", "import"])
  }

  @Test func `A password of an administrator is hashed, follows the rules, and ends all sessions`() async throws {
    let bench = try await AccountsBench()
    let signedIn = try await bench.signIn("a")
    let localID = try #require(signedIn.reply.localID)
    bench.clock.advance(by: .seconds(1))
    #expect(try code(try await bench.change(user(localID) { $0.password = "short" })) == .weakPassword)
    #expect(try await bench.refusal(of: signedIn.idToken) == nil)
    let changed = try await bench.change(
      user(localID) { ($0.email, $0.password) = ("ada@example.com", "correct horse") })
    #expect(try code(changed) == nil)
    #expect(try await bench.refusal(of: signedIn.idToken)?.code == .tokenExpired)
    #expect(try await bench.find(localID)?.ways == ["phone", "password"])
    #expect(
      try code(try await bench.create(user("eve") { $0.password = "correct horse" }, by: .nobody))
        == .invalidAccessToken)
    #expect(try code(try await bench.change(user(localID) { $0.deleteProviders = ["password"] })) == nil)
    #expect(try await bench.find(localID)?.ways == ["phone"])
    #expect(try AccountsRemoved(json: try await bench.remove([localID], isForced: true).body).refused.isEmpty)
  }

  @Test func `A password that is taken and set by one command is replaced`() async throws {
    let bench = try await AccountsBench()
    bench.usePasswords()
    let user = try await bench.signUp(email: "ada@example.com")
    let own = try await bench.change(user.idToken, password: AccountsBench.otherPassword) {
      $0.deleteProviders = ["password"]
    }
    #expect(own.error == nil)
    let localID = try #require(user.reply.localID)
    let reply = try await bench.change(
      self.user(localID) { fields in
        (fields.email, fields.password, fields.deleteProviders) = ("eve@example.com", "one more horse", ["password"])
      })
    #expect(try code(reply) == nil)
    #expect(try await bench.signIn(email: "eve@example.com", "one more horse").reply.localID == localID)
  }
}
