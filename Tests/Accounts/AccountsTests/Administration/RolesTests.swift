import CountersignAMQP
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Accounts

@Suite struct RolesTests {
  private typealias Order = (AccountsBench, AccountsBench.Bearer) async throws -> Message

  private static func user(_ localID: String) -> UserFields { UserFields(localID: localID) }

  private let orders: [(name: String, role: AdministratorRole, order: Order)] = [
    ("create", .writeUsers, { try await $0.create(user("new"), by: $1) }),
    ("change", .writeUsers, { try await $0.change(user("ada"), by: $1) }),
    ("remove", .writeUsers, { try await $0.remove(["nobody"], by: $1) }),
    ("import", .writeUsers, { try await $0.importing(UserBatch(users: [user("imported")]), by: $1) }),
    ("find", .readUsers, { try await $0.find(AccountSelection(), by: $1) }),
    ("list", .readUsers, { try await $0.list(by: $1) }),
    ("export", .exportUsers, { try await $0.list(withHashes: true, by: $1) }),
    ("settings", .config, { try await $0.settings(by: $1) }),
    ("find providers", .config, { try await $0.findProviders(by: $1) }),
    (
      "set provider", .config,
      {
        try await $0.setProvider(.create, "oidc.\($0.nextID())", by: $1) { fields in
          (fields.issuer, fields.clients) = ("https://id.example.com", [OpenIDClient(clientID: "c")])
        }
      }
    ),
    ("start verification", .verifications, { try await $0.startVerification(by: $1) }),
    ("check verification", .verifications, { try await $0.checkVerification(try await $0.verified(by: $1), by: $1) }),
    ("get verification", .verifications, { try await $0.getVerification(try await $0.verified(by: $1), by: $1) }),
    (
      "cancel verification", .verifications,
      { try await $0.cancelVerification(try await $0.verified(by: $1), by: $1) }
    ),
    ("cookie", .tokens, { try await $0.cookie(try await $0.signUp("cookie-\($0.nextID())").idToken, by: $1) }),
  ]

  @Test(arguments: AdministratorRole.known) func `Each order takes its role and no other`(
    role: AdministratorRole
  ) async throws {
    let bench = try await AccountsBench()
    let token = try await bench.access([role])
    for (name, needed, order) in orders {
      // Made anew, so that each role finds the same.
      if name == "change" { _ = try await bench.create(Self.user("ada")) }
      let code = try code(try await order(bench, .token(token)))
      #expect(code == (needed == role ? nil : .insufficientPermission), "\(name) with \(role.rawValue)")
    }
  }

  @Test func `Operators need no token, and everyone else one`() async throws {
    let bench = try await AccountsBench()
    for (name, _, order) in orders {
      if name == "change" { _ = try await bench.create(Self.user("ada")) }
      #expect(try code(try await order(bench, .administrator)) == nil, "\(name)")
      #expect(try code(try await order(bench, .nobody)) == .invalidAccessToken, "\(name)")
      let forged: [Secret] = [Secret("owner"), Secret("."), Secret(""), Secret("x.backend-one"), Secret("a.b.c.d")]
      for bearer in forged {
        #expect(try code(try await order(bench, .token(bearer))) == .invalidAccessToken, "\(name)")
      }
    }
  }

  @Test func `An operator who sends a dead letter again lends it no rights`() async throws {
    let bench = try await AccountsBench()
    _ = try await bench.create(Self.user("ada"))
    func remove(sentFirstBy sender: String) async throws -> APIErrorCode? {
      var command = RemoveAccounts(project: AccountsBench.project, localIDs: ["ada"])
      command.force = true
      var message = try bench.message(command, user: AccountsBench.administrator)
      message.headers[MessageHeader.sender] = .string(sender)
      return try code(try await bench.ask(message))
    }
    #expect(try await remove(sentFirstBy: "gateway") == .invalidAccessToken)
    #expect(try await bench.find("ada") != nil)
    #expect(try await remove(sentFirstBy: AccountsBench.administrator) == nil)
    #expect(try await bench.find("ada") == nil)
  }

  @Test func `The bearer of development is an administrator there alone`() async throws {
    let development = try await AccountsBench { $0.isDevelopment = true }
    #expect(try code(try await development.list(withHashes: true, by: .token(Secret("owner")))) == nil)
    let bench = try await AccountsBench()
    #expect(try code(try await bench.list(by: .token(Secret("owner")))) == .invalidAccessToken)
  }

  @Test func `Requesters may not send the commands of operators`() async throws {
    let bench = try await AccountsBench()
    let project = AccountsBench.project
    let set = SetServiceAccount(project: project, act: .disable, name: AccountsBench.service)
    #expect(try await bench.error(set).code == .operationNotAllowed)
    #expect(try await bench.error(ListServiceAccounts(project: project)).code == .operationNotAllowed)
    #expect(try await bench.error(ListActs(project: project, limit: 1)).code == .operationNotAllowed)
  }

  // MARK: Ends of a token

  @Test func `A token ends with its hour, its account, its key and its role`() async throws {
    let bench = try await AccountsBench()
    let token = try await bench.access([.readUsers, .writeUsers])
    func code() async throws -> APIErrorCode? { try AccountsTests.code(try await bench.list(by: .token(token))) }
    #expect(try await code() == nil)
    try await bench.set(.disable)
    #expect(try await code() == .invalidAccessToken)
    try await bench.set(.enable)
    #expect(try await code() == nil)
    try await bench.set(.setRoles) { $0.roles = [.writeUsers] }
    #expect(try await code() == .insufficientPermission)
    try await bench.set(.setRoles) { $0.roles = [.readUsers, .config] }
    // A role that was given since is not in it.
    #expect(try await code() == nil)
    #expect(try AccountsTests.code(try await bench.settings(by: .token(token))) == .insufficientPermission)
    bench.clock.advance(by: .seconds(3600))
    #expect(try await code() == .invalidAccessToken)
  }

  @Test func `A token of a key that was removed, or of an account that was made anew, counts no more`() async throws {
    let bench = try await AccountsBench()
    let token = try await bench.access([.readUsers])
    let other = try ServiceKeys.other.get()
    try await bench.set(.addKey) { command in
      (command.keyID, command.publicKey) = (other.id, try ServiceKeys.pem(other))
    }
    #expect(try code(try await bench.list(by: .token(token))) == nil)
    try await bench.set(.removeKey) { $0.keyID = "key-own" }
    #expect(try code(try await bench.list(by: .token(token))) == .invalidAccessToken)
    try await bench.set(.delete)
    bench.clock.advance(by: .seconds(1))
    try await bench.makeServiceAccount([.readUsers])
    #expect(try code(try await bench.list(by: .token(token))) == .invalidAccessToken)
    #expect(try code(try await bench.list(by: .token(try await bench.accessToken()))) == nil)
  }

  @Test func `A token of another project counts for nothing`() async throws {
    let bench = try await AccountsBench()
    try await bench.makeServiceAccount(AdministratorRole.known, project: AccountsBench.otherProject)
    try await bench.makeServiceAccount(AdministratorRole.known, key: ServiceKeys.other)
    let id = bench.nextID()
    let claims = bench.assertion { $0["iss"] = .text(AccountsBench.email(project: AccountsBench.otherProject)) }
    let reply = try await bench.grant(bench.signed(claims), id: id)
    let token = try bench.opened(AccessGranted(json: reply.body).accessToken, AccessGranted.type, id: id)
    #expect(try code(try await bench.create(Self.user("a"), by: .token(token))) == .invalidAccessToken)
    let foreign = try await bench.create(
      Self.user("a"), by: .token(token), project: AccountsBench.otherProject)
    #expect(try code(foreign) == nil)
  }

  // MARK: Assertions

  @Test func `An assertion that is wrong in any part grants nothing`() async throws {
    let bench = try await AccountsBench()
    try await bench.makeServiceAccount([.readUsers])
    let now = bench.clock.now().seconds
    let changes: [(String, (inout [String: JSONValue]) -> Void)] = [
      ("issuer", { $0["iss"] = .text(AccountsBench.email("nobody-here")) }),
      ("form of the issuer", { $0["iss"] = "ada@example.com" }),
      ("issuer missing", { $0["iss"] = nil }),
      ("project", { $0["iss"] = .text(AccountsBench.email(project: "no-such-project")) }),
      ("audience", { $0["aud"] = "https://example.com/token" }),
      ("audience missing", { $0["aud"] = nil }),
      (
        "expired",
        {
          $0["iat"] = .integer(now - 3600)
          $0["exp"] = .integer(now)
        }
      ),
      ("too long", { $0["exp"] = .integer(now + 3601) }),
      (
        "future",
        {
          $0["iat"] = .integer(now + 301)
          $0["exp"] = .integer(now + 400)
        }
      ),
      ("no times", { $0["iat"] = nil }),
      ("huge", { $0["exp"] = .integer(.max) }),
    ]
    for (name, change) in changes {
      #expect(try code(try await bench.grant(bench.signed(bench.assertion(change)))) == .invalidGrant, "\(name)")
    }
    let good = bench.assertion()
    #expect(try code(try await bench.grant(bench.signed(good, by: ServiceKeys.other))) == .invalidGrant)
    let text = try bench.signed(good).reveal()
    let parts = text.split(separator: ".").map(String.init)
    let header = Base64URL.encode(Array(#"{"alg":"none","kid":"key-own"}"#.utf8))
    for hostile in [
      "", ".", "..", "a.b.c", "\(header).\(parts[1]).", "\(header).\(parts[1]).\(parts[2])", text + "A",
      "\(parts[0]).\(parts[1])", String(repeating: "a", count: 9_000),
    ] {
      #expect(try code(try await bench.grant(Secret(hostile))) == .invalidGrant, "\(hostile.prefix(40))")
    }
    #expect(try code(try await bench.grant(bench.signed(good))) == nil)
  }

  @Test func `A grant that is repeated gives the same token, sealed to the first key`() async throws {
    let bench = try await AccountsBench()
    try await bench.makeServiceAccount([.readUsers])
    let assertion = try bench.signed(bench.assertion())
    var tokens: Set<String> = []
    for _ in 0..<2 {
      let reply = try await bench.grant(assertion, id: "g")
      let granted = try AccessGranted(json: reply.body)
      #expect(granted.expiresIn == 3600)
      tokens.insert(try bench.opened(granted.accessToken, AccessGranted.type, id: "g").reveal())
    }
    #expect(tokens.count == 1)
  }

  @Test func `A grant that is repeated after its assertion has expired gives the same token`() async throws {
    let bench = try await AccountsBench()
    try await bench.makeServiceAccount([.readUsers])
    let expiresAt = bench.clock.now().seconds + 600
    let assertion = try bench.signed(bench.assertion { $0["exp"] = .integer(expiresAt) })
    var tokens: Set<String> = []
    for expiresIn in [3600, 3000] {
      let granted = try AccessGranted(json: try await bench.grant(assertion, id: "g").body)
      #expect(granted.expiresIn == expiresIn)
      tokens.insert(try bench.opened(granted.accessToken, AccessGranted.type, id: "g").reveal())
      bench.clock.advance(by: .seconds(600))
    }
    #expect(tokens.count == 1)
    #expect(try code(try await bench.grant(assertion)) == .invalidGrant)
  }

  // MARK: Service accounts

  @Test func `Service accounts have names of a form, RSA keys, known roles, and are there once`() async throws {
    let bench = try await AccountsBench()
    try await bench.makeServiceAccount([.readUsers])
    let key = try ServiceKeys.own.get()
    let pem = try ServiceKeys.pem(key)
    func code(
      _ act: SetServiceAccount.Act, _ name: String, _ change: (inout SetServiceAccount) -> Void = { _ in }
    ) async throws -> APIErrorCode? {
      try AccountsTests.code(
        try await bench.set(act, name) { command in
          (command.keyID, command.publicKey, command.roles) = ("k", pem, [])
          change(&command)
        })
    }
    #expect(try await code(.create, AccountsBench.service) == .duplicateLocalID)
    for name in ["short", "Capital-letters", "1-digit-first", "ends-with-", "a/b-slash", ""] {
      #expect(try await code(.create, name) == .invalidArgument, "\(name)")
    }
    #expect(try await code(.create, "backend-two") { $0.publicKey = "no key" } == .invalidArgument)
    #expect(try await code(.create, "backend-two") { $0.keyID = nil } == .invalidArgument)
    #expect(
      try await code(.create, "backend-two") { $0.roles = [AdministratorRole(rawValue: "root")] } == .invalidArgument)
    for act in [SetServiceAccount.Act.addKey, .removeKey, .setRoles, .disable, .enable, .delete] {
      #expect(try await code(act, "backend-two") == .userNotFound, "\(act)")
    }
    #expect(try await code(.create, "backend-two") == nil)
    let reply = try await bench.ask(ListServiceAccounts(project: AccountsBench.project), user: "operator")
    let accounts = try ServiceAccountsListed(json: reply.body).accounts
    #expect(accounts.map(\.email) == [AccountsBench.email(), AccountsBench.email("backend-two")])
    #expect(accounts.first?.roles == [.readUsers] && accounts.first?.keyIDs == ["key-own"])
  }
}
