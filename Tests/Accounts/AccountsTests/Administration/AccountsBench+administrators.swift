import CountersignAMQP
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

/// Keys of service accounts. Making one takes a tenth of a second and more.
enum ServiceKeys {
  static let own = Result { try SigningKey.generateRSA(id: "key-own") }
  static let other = Result { try SigningKey.generateRSA(id: "key-other") }

  /// SubjectPublicKeyInfo (RFC 5280) of an RSA key, in PEM.
  static func pem(_ key: SigningKey) throws -> String {
    func der(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
      let count = content.count
      let length: [UInt8] =
        count < 128
        ? [UInt8(count)] : count < 256 ? [0x81, UInt8(count)] : [0x82, UInt8(count >> 8), UInt8(count & 255)]
      return [tag] + length + content
    }
    func number(_ text: String) throws -> [UInt8] {
      let bytes = try #require(Base64URL.decode(text))
      return der(0x02, (bytes[0] & 0x80 == 0 ? [] : [0]) + bytes)
    }
    let components = try #require(key.verifying.rsaComponents)
    let algorithm = der(0x30, [0x06, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, 1, 0x05, 0])
    let numbers = der(0x30, try number(components.n) + number(components.e))
    let text = Base64.encode(der(0x30, algorithm + der(0x03, [0] + numbers)))
    return "-----BEGIN PUBLIC KEY-----\n\(text)\n-----END PUBLIC KEY-----\n"
  }
}

extension AccountsBench {
  static let service = "backend-one"
  static let administrator = "operator"
  static let tokenURI = "https://oauth2.googleapis.com/token"

  static func email(_ name: String = service, project: String = project) -> String {
    "\(name)@\(project).iam.gserviceaccount.com"
  }

  /// A secret, sealed for a command, bound to the requester's key if the command has it.
  func sealed<Body: Command>(
    _ text: Secret, for type: Body.Type, _ id: String, isBound: Bool = false
  ) throws -> SecretField {
    let context = AccountCommandFields.context(
      of: Body.type, messageID: id, replyKey: isBound ? replyKey.publicKey.jwk : nil)
    return try PublicSealer(key: secrets.sealingKey.publicKey).seal(text, for: context)
  }

  /// An act of an operator on a service account.
  @discardableResult
  func set(
    _ act: SetServiceAccount.Act, _ name: String = service, project: String = project,
    _ change: (inout SetServiceAccount) throws -> Void = { _ in }
  ) async throws -> Message {
    var command = SetServiceAccount(project: project, act: act, name: name)
    try change(&command)
    return try await ask(command, user: Self.administrator)
  }

  func makeServiceAccount(
    _ roles: [AdministratorRole], _ name: String = service, project: String = project,
    key: Result<SigningKey, any Error> = ServiceKeys.own
  ) async throws {
    let key = try key.get()
    let reply = try await set(.create, name, project: project) { command in
      command.roles = roles
      command.keyID = key.id
      command.publicKey = try ServiceKeys.pem(key)
    }
    #expect(reply.type == ServiceAccountsListed.type.text)
  }

  /// A token that a key signs, with claims that a test may change.
  func signed(
    _ claims: [String: JSONValue], by key: Result<SigningKey, any Error> = ServiceKeys.own
  ) throws -> Secret {
    Secret(try JWS.sign(Array(JSONValue.object(claims).json().utf8), with: key.get()))
  }

  func assertion(_ change: (inout [String: JSONValue]) -> Void = { _ in }) -> [String: JSONValue] {
    let now = clock.now().seconds
    var claims: [String: JSONValue] = [
      "iss": .text(Self.email()), "aud": .text(Self.tokenURI), "iat": .integer(now), "exp": .integer(now + 3600),
      "scope": "https://www.googleapis.com/auth/firebase",
    ]
    change(&claims)
    return claims
  }

  func grant(_ assertion: Secret, id: String? = nil) async throws -> Message {
    let id = id ?? nextID()
    let field = try sealed(assertion, for: GrantAccess.self, id, isBound: true)
    return try await ask(GrantAccess(assertion: field, replyKey: replyKey.publicKey.jwk), id: id)
  }

  /// The access token of a service account with some roles, which it makes.
  func access(_ roles: [AdministratorRole]) async throws -> Secret {
    try await makeServiceAccount(roles)
    return try await accessToken()
  }

  func accessToken(
    _ name: String = service, project: String = project, key: Result<SigningKey, any Error> = ServiceKeys.own
  ) async throws -> Secret {
    let id = nextID()
    let assertion = assertion { $0["iss"] = .text(Self.email(name, project: project)) }
    let reply = try await grant(signed(assertion, by: key), id: id)
    return try opened(AccessGranted(json: reply.body).accessToken, AccessGranted.type, id: id)
  }

  enum Bearer {
    case token(Secret)
    case nobody
    case administrator

    var user: String? { if case .administrator = self { AccountsBench.administrator } else { nil } }
  }

  func bearer<Body: Command>(
    _ bearer: Bearer, _ type: Body.Type, _ id: String, isBound: Bool = false
  ) throws -> SecretField? {
    guard case .token(let token) = bearer else { return nil }
    return try sealed(token, for: type, id, isBound: isBound)
  }

  func create(_ user: UserFields, by caller: Bearer = .administrator, project: String = project) async throws -> Message
  {
    let id = nextID()
    var command = CreateAccount(project: project, user: try sealed(user.text(), for: CreateAccount.self, id))
    command.bearer = try bearer(caller, CreateAccount.self, id)
    return try await ask(command, id: id, user: caller.user)
  }

  func change(_ user: UserFields, by caller: Bearer = .administrator) async throws -> Message {
    let id = nextID()
    var command = ChangeAccount(project: Self.project, user: try sealed(user.text(), for: ChangeAccount.self, id))
    command.bearer = try bearer(caller, ChangeAccount.self, id)
    return try await ask(command, id: id, user: caller.user)
  }

  func find(_ selection: AccountSelection, by caller: Bearer = .administrator) async throws -> Message {
    let id = nextID()
    var command = FindAccounts(
      project: Self.project, selection: try sealed(selection.text(), for: FindAccounts.self, id))
    command.bearer = try bearer(caller, FindAccounts.self, id)
    return try await ask(command, id: id, user: caller.user)
  }

  func list(
    _ limit: Int = 100, after: String? = nil, withHashes: Bool = false, by caller: Bearer = .administrator,
    id: String? = nil
  ) async throws -> Message {
    let id = id ?? nextID()
    var command = ListAccounts(project: Self.project, limit: limit)
    command.after = after
    command.replyKey = withHashes ? replyKey.publicKey.jwk : nil
    command.bearer = try bearer(caller, ListAccounts.self, id, isBound: withHashes)
    return try await ask(command, id: id, user: caller.user)
  }

  func remove(
    _ localIDs: [String], isForced: Bool = false, by caller: Bearer = .administrator
  ) async throws -> Message {
    let id = nextID()
    var command = RemoveAccounts(project: Self.project, localIDs: localIDs)
    command.force = isForced
    command.bearer = try bearer(caller, RemoveAccounts.self, id)
    return try await ask(command, id: id, user: caller.user)
  }

  func importing(
    _ batch: UserBatch, by caller: Bearer = .administrator, id: String? = nil
  ) async throws -> Message {
    let id = id ?? nextID()
    var command = ImportAccounts(project: Self.project, batch: try sealed(batch.text(), for: ImportAccounts.self, id))
    command.bearer = try bearer(caller, ImportAccounts.self, id)
    return try await ask(command, id: id, user: caller.user)
  }

  func settings(
    by caller: Bearer = .administrator, id: String? = nil,
    _ change: (inout ProjectSettingsCommand) -> Void = { _ in }
  ) async throws -> Message {
    let id = id ?? nextID()
    var command = ProjectSettingsCommand(project: Self.project)
    change(&command)
    command.bearer = try bearer(caller, ProjectSettingsCommand.self, id)
    return try await ask(command, id: id, user: caller.user)
  }

  func setProvider(
    _ act: SetProvider.Act, _ providerID: String = "oidc.example", by caller: Bearer = .administrator,
    id: String? = nil, _ change: (inout OpenIDFields) -> Void = { _ in }
  ) async throws -> Message {
    let id = id ?? nextID()
    var (command, fields) = (SetProvider(project: Self.project, providerID: providerID, act: act), OpenIDFields())
    change(&fields)
    if act != .remove { command.fields = try sealed(fields.text(), for: SetProvider.self, id) }
    command.bearer = try bearer(caller, SetProvider.self, id)
    return try await ask(command, id: id, user: caller.user)
  }

  func findProviders(
    by caller: Bearer = .administrator, _ change: (inout FindProviders) -> Void = { _ in }
  ) async throws -> Message {
    let id = nextID()
    var command = FindProviders(project: Self.project)
    change(&command)
    command.bearer = try bearer(caller, FindProviders.self, id)
    return try await ask(command, id: id, user: caller.user)
  }

  func cookie(
    _ idToken: Secret?, validFor: Int = 3600, by caller: Bearer = .administrator, id: String? = nil
  ) async throws -> Message {
    let id = id ?? nextID()
    let token = try sealed(#require(idToken), for: CreateSessionCookie.self, id, isBound: true)
    var command = CreateSessionCookie(
      project: Self.project, idToken: token, validFor: validFor, replyKey: replyKey.publicKey.jwk)
    command.bearer = try bearer(caller, CreateSessionCookie.self, id, isBound: true)
    return try await ask(command, id: id, user: caller.user)
  }

  // MARK: Custom tokens

  func customClaims(
    _ uid: String = "ada", _ change: (inout [String: JSONValue]) -> Void = { _ in }
  ) -> [String: JSONValue] {
    let now = clock.now().seconds
    var claims: [String: JSONValue] = [
      "iss": .text(Self.email()), "sub": .text(Self.email()), "aud": .text(CustomToken.audience), "uid": .text(uid),
      "iat": .integer(now), "exp": .integer(now + 3600),
    ]
    change(&claims)
    return claims
  }

  func signIn(custom token: Secret, id: String? = nil, project: String = project) async throws -> Answer {
    let id = id ?? nextID()
    let field = try sealed(token, for: SignInWithCustomToken.self, id, isBound: true)
    let command = SignInWithCustomToken(project: project, token: field, replyKey: replyKey.publicKey.jwk)
    return try answer(try await ask(command, id: id), id)
  }

  func useCustomTokens() { use(Self.methods.union([.custom])) }
}

/// Code of the error that a reply is. `nil` for a success.
func code(_ reply: Message) throws -> APIErrorCode? {
  reply.type == ErrorReply.type.text ? try ErrorReply(json: reply.body).error.code : nil
}
