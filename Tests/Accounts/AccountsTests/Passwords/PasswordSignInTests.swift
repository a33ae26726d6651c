import CountersignAMQP
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import PasswordHashing
import Projects
import Synchronization
import TestSupport
import Testing

@testable import Accounts
@testable import CommandEngine

@Suite("Sign-in with a password", .timeLimit(.minutes(10)))
struct PasswordSignInTests {
  let bench: AccountsBench

  init() async throws {
    bench = try await AccountsBench()
    bench.usePasswords()
  }

  /// Accounts that a stranger cannot tell from none: one with a password, one of a provider, one without a way in.
  private func makeUsers() async throws -> [String] {
    _ = try await bench.signUp(email: "known@example.com")
    _ = try await bench.signIn(at: "google.com", FakeProvider.Token("g", email: "google@example.com"))
    let bare = try #require(try await bench.account(of: bench.signIn("p")))
    try await bench.change(bare) { account, _ in account.email = "bare@example.com" }
    return ["known@example.com", "google@example.com", "bare@example.com", "nobody@example.com"]
  }

  @Test func `The right password opens the account, however the address is written`() async throws {
    let user = try await bench.signUp(email: AccountsBench.email, name: "Ada")
    for email in [AccountsBench.email, "ADA@EXAMPLE.COM", " ada@example.com "] {
      let known = try await bench.signIn(email: email)
      #expect(known.reply.localID == user.reply.localID && known.reply.isNewUser == false)
      #expect(known.identity?.email == AccountsBench.email && known.identity?.displayName == "Ada")
      #expect(known.identity?.providerID == "password" && known.ways?.provider == "password")
      #expect(try bench.providers(of: "account.signIn") == ["password"])
    }
  }

  @Test func `A command that comes again is answered with its session`() async throws {
    let user = try await bench.signUp(email: AccountsBench.email)
    let first = try await bench.signIn(email: AccountsBench.email, id: "a")
    let again = try await bench.signIn(email: AccountsBench.email, id: "a")
    #expect(first.reply.localID == user.reply.localID && again.identity?.email == AccountsBench.email)
    #expect(again.claims?.sessionID == first.claims?.sessionID && bench.events("account.signIn").isEmpty)
    // With another password it is another command.
    let other = try await bench.signIn(email: AccountsBench.email, AccountsBench.otherPassword, id: "a")
    #expect(other.error?.reason == "MESSAGE_ID_REUSED")
  }

  @Test func `What is missing is told`() async throws {
    #expect(try await bench.signIn(email: nil).error?.code == .missingEmail)
    #expect(try await bench.signIn(email: "ada").error?.code == .invalidEmail)
    #expect(try await bench.signIn(email: AccountsBench.email, nil).error?.code == .missingPassword)
    #expect(try await bench.signIn(email: AccountsBench.email, "").error?.code == .missingPassword)
  }

  @Test func `A stranger learns nothing about addresses where they are protected`() async throws {
    var errors: Set<APIError> = []
    for email in try await makeUsers() {
      errors.insert(try #require(try await bench.signIn(email: email, AccountsBench.otherPassword).error))
      #expect(try await bench.methods(of: email) == MethodsFound())
    }
    #expect(errors.map(\.code) == [.invalidLoginCredentials])
  }

  @Test func `Elsewhere address and password are told apart, and the ways to sign in are told`() async throws {
    let users = try await makeUsers()
    bench.usePasswords { $0.protectsAddresses = false }
    var codes: [APIErrorCode?] = []
    for email in users {
      codes.append(try await bench.signIn(email: email, AccountsBench.otherPassword).error?.code)
    }
    #expect(codes[0] == .invalidPassword && codes[3] == .emailNotFound)
    #expect(try await bench.methods(of: "Known@example.com") == MethodsFound(isRegistered: true, methods: ["password"]))
    #expect(try await bench.methods(of: users[1]) == MethodsFound(isRegistered: true, methods: ["google.com"]))
    #expect(try await bench.methods(of: users[3]).isRegistered == false)
  }

  @Test func `That an account is disabled is told to who knows its password`() async throws {
    let user = try await bench.signUp(email: AccountsBench.email)
    let account = try #require(try await bench.account(of: user))
    try await bench.change(account) { account, _ in account.isDisabled = true }
    #expect(try await bench.signIn(email: AccountsBench.email).error?.code == .userDisabled)
    let wrong = try await bench.signIn(email: AccountsBench.email, AccountsBench.otherPassword)
    #expect(wrong.error?.code == .invalidLoginCredentials)
  }

  // MARK: Hashes

  @Test func `An imported hash signs in, and is replaced by one of today`() async throws {
    let user = try await bench.signUp(email: AccountsBench.email)
    let account = try #require(try await bench.account(of: user))
    let sha256 = try ImportAlgorithm(Self.sha256)
    let digest = Array("salt".utf8) + Array("imported".utf8)
    try await bench.store(
      sha256.hash(SHA256.hash(digest), salt: Array("salt".utf8)), of: account)
    bench.clock.advance(by: .seconds(10))
    #expect(try await bench.signIn(email: AccountsBench.email).error?.code == .invalidLoginCredentials)
    #expect(try await bench.passwordHash(of: account)?.isCurrent == false)
    for _ in 0..<2 {
      let known = try await bench.signIn(email: AccountsBench.email, "imported")
      #expect(known.reply.localID == user.reply.localID && bench.events("account.updated").isEmpty)
      #expect(try await bench.passwordHash(of: account)?.isCurrent == true)
    }
    // It is the same password: it was not changed.
    #expect(try await bench.account(of: user)?.passwordChangedAt == account.passwordChangedAt)
  }

  private static let sha256: ImportAlgorithm.Fields = {
    var fields = ImportAlgorithm.Fields("SHA256")
    fields.rounds = 1
    fields.passwordHashOrder = "SALT_AND_PASSWORD"
    return fields
  }()

  // MARK: Time

  /// Costs of the hashes that a password is compared with, in any order.
  private func costs(of email: String, _ password: String = AccountsBench.otherPassword) async throws -> [String] {
    let compared = Mutex<[String]>([])
    var parts = bench.parts
    parts.passwords = Passwords(parts.passwords.pool) { hash, password throws(PasswordHashingError) in
      compared.withLock { $0.append(hash.decoy.stored) }
      return try hash.matches(password)
    }
    let id = bench.nextID()
    let command = try bench.signingIn(email, password, id: id)
    let order = try PasswordSignInOrder(command, Envelope(try bench.message(command, id: id)), parts)
    _ = try await #require(order.stage).run(StageAccess(context: bench.context))
    return compared.withLock { $0.sorted() }
  }

  /// Imports a user with a hash of PBKDF2.
  /// - Returns: its cost.
  private func importUser(_ email: String, rounds: Int) async throws -> String {
    let digest = [UInt8](repeating: 7, count: 32)
    var user = UserFields(localID: email)
    (user.email, user.passwordHash, user.salt) = (email, Base64.encode(digest), Base64.encode(digest))
    var batch = UserBatch(users: [user])
    batch.hash = HashParameters(hashAlgorithm: "PBKDF2_SHA256")
    batch.hash?.rounds = rounds
    #expect(try AccountsImported(json: try await bench.importing(batch).body).refused.isEmpty)
    let account = try #require(try await bench.find(email))
    return try #require(try await bench.passwordHash(of: account)).decoy.stored
  }

  @Test func `A wrong password costs the same, whatever the account has`() async throws {
    var users = try await makeUsers()
    let today = PasswordHash.ofNobody.decoy.stored
    for email in users { #expect(try await costs(of: email) == [today], "\(email)") }
    let imported = try await importUser("moved@example.com", rounds: 1)
    users.append("moved@example.com")
    for email in users { #expect(try await costs(of: email) == [today, imported].sorted(), "\(email)") }
    // A right one tells nothing that is not told.
    #expect(try await costs(of: users[0], AccountsBench.password) == [today])
  }

  @Test func `An imported hash that the project does not remember costs one of today as well`() async throws {
    let user = try await bench.signUp(email: AccountsBench.email)
    let hash = try ImportAlgorithm(Self.sha256).hash([UInt8](repeating: 7, count: 32), salt: [])
    let account = try #require(try await bench.account(of: user))
    try await bench.store(hash, of: account)
    let costs = try await costs(of: AccountsBench.email)
    #expect(costs == [PasswordHash.ofNobody.decoy.stored, hash.decoy.stored].sorted())
  }

  @Test func `Addresses without an imported hash share its costs out, each with always the same`() async throws {
    let today = PasswordHash.ofNobody.decoy.stored
    var imported: [String] = []
    for rounds in 1...3 { imported.append(try await importUser("moved\(rounds)@example.com", rounds: rounds)) }
    #expect(try await costs(of: "MOVED2@example.com") == [today, imported[1]].sorted())
    var found: [[String]] = []
    for index in 0..<40 { found.append(try await costs(of: "nobody\(index)@example.com")) }
    for index in 0..<4 { #expect(try await costs(of: "Nobody\(index)@EXAMPLE.com") == found[index]) }
    #expect(Set(found) == Set(imported.map { [today, $0].sorted() }))
  }

  @Test func `A project remembers a bounded number of costs, and each once`() async throws {
    for rounds in 1...ImportedHashes.most + 2 {
      _ = try await importUser("moved\(rounds)@example.com", rounds: rounds)
      _ = try await importUser("other\(rounds)@example.com", rounds: rounds)
    }
    let known = try await bench.look { set throws(StoreError) in
      try ImportedHashes.find(AccountsBench.project, in: set)
    }
    #expect(known.decoys.count == ImportedHashes.most && Set(known.decoys).count == ImportedHashes.most)
  }

  // MARK: Changes on the way

  /// Runs the stage, changes something, and carries the command out.
  private func signIn(
    _ password: String = AccountsBench.password, between change: () async throws -> Void
  ) async throws -> AccountsBench.Answer {
    let id = bench.nextID()
    let command = try bench.signingIn(AccountsBench.email, password, id: id)
    let envelope = try Envelope(try bench.message(command, id: id))
    let kind = try #require(bench.context.registry.commands[SignInWithPassword.type])
    let stage = try #require(try kind.read(envelope, try command.json(), bench.clock.now(), [:]).stage)
    let order = try await stage.run(StageAccess(context: bench.context))
    try await change()
    let answer = try #require(
      try await bench.look { set throws(StoreError) in try order.carryOut(envelope, in: &set) })
    return try bench.answer(Envelope(type: answer.type, messageID: "r").message(body: answer.body), id)
  }

  @Test func `A password that is changed while it is compared opens nothing, and counts as no wrong one`() async throws
  {
    let user = try await bench.signUp(email: AccountsBench.email)
    #expect(try await signIn {}.reply.localID == user.reply.localID)
    let answer = try await signIn { () async throws in
      #expect(try await bench.change(user.idToken, password: AccountsBench.otherPassword).error == nil)
    }
    #expect(answer.error?.code == .internalError && answer.error?.retryAfter == 1)
    let late = try await signIn(AccountsBench.otherPassword) { () async throws in
      #expect(try await bench.delete(try #require(user.idToken)).type == AccountDeleted.type.text)
    }
    #expect(late.error?.code == .internalError && late.reply.tokens == nil)
  }

  @Test func `A method that goes off while the password is compared lets nobody in`() async throws {
    _ = try await bench.signUp(email: AccountsBench.email)
    let answer = try await signIn { bench.usePasswords { $0.methods.remove(.password) } }
    #expect(answer.error?.reason == "METHOD_OFF")
  }

  // MARK: Wrong passwords

  @Test func `Wrong passwords are limited for a network, whether an account has the address or not`() async throws {
    let users = try await makeUsers()
    for email in [users[0], users[3]] {
      let ip = "192.0.2.1"
      var codes: [APIErrorCode?] = []
      for _ in 0..<11 {
        bench.clock.advance(by: WrongPasswords.longestPause + .seconds(2))
        codes.append(try await bench.signIn(email: email, AccountsBench.otherPassword, ip: ip).error?.code)
      }
      #expect(codes == Array(repeating: .invalidLoginCredentials, count: 10) + [.tooManyAttempts])
      // The same network, and no other.
      let near = try await bench.signIn(email: email, AccountsBench.otherPassword, ip: "192.0.2.77")
      #expect(near.error?.code == .tooManyAttempts && (near.error?.retryAfter ?? 0) > 0)
    }
    #expect(try await bench.signIn(email: users[0], ip: "198.51.100.1").reply.tokens != nil)
  }

  @Test func `Strangers who guess from many networks slow an account down, and lock nobody out`() async throws {
    let user = try await bench.signUp(email: AccountsBench.email)
    let home = "203.0.113.1"
    #expect(try await bench.signIn(email: AccountsBench.email, ip: home).reply.tokens != nil)
    var limited: APIError?
    for index in 0..<20 where limited == nil {
      let ip = "198.51.\(index).1"
      limited = try await bench.signIn(email: AccountsBench.email, AccountsBench.otherPassword, ip: ip).error
        .flatMap { $0.code == .tooManyAttempts ? $0 : nil }
    }
    let pause = try #require(limited?.retryAfter)
    #expect((1...30).contains(pause))
    // A network that it has signed in from before does not wait.
    #expect(try await bench.signIn(email: AccountsBench.email, ip: home).reply.localID == user.reply.localID)
    #expect(try await bench.signIn(email: AccountsBench.email, ip: "203.0.114.1").error?.code == .tooManyAttempts)
    bench.clock.advance(by: WrongPasswords.longestPause + .seconds(2))
    #expect(try await bench.signIn(email: AccountsBench.email, ip: "203.0.114.1").reply.tokens != nil)
  }
}
