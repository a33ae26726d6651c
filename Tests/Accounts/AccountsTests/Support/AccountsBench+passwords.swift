import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import PasswordHashing
import Projects
import TestSupport
import Testing

@testable import Accounts

extension AccountsBench {
  static let email = "Ada@Example.com"
  static let password = "correct horse"
  static let otherPassword = "battery staple"

  /// The project with passwords, as a test changes it.
  func usePasswords(_ change: (inout Project) -> Void = { _ in }) {
    var project = Project(id: Self.project, number: 100_000_000_001)
    project.methods = Self.methods.union([.password, .emailLink])
    project.apps = Self.apps
    change(&project)
    parts.rules.projects.take(Projects([project]))
  }

  /// A secret of a command with a key for the secrets of its reply, bound to that.
  func sealBound<Body: Command>(_ secret: Secret, _ type: Body.Type, _ id: String) throws -> SecretField {
    let context = AccountCommandFields.context(of: Body.type, messageID: id, replyKey: replyKey.publicKey.jwk)
    return try PublicSealer(key: secrets.sealingKey.publicKey).seal(secret, for: context)
  }

  func signingUp(
    _ email: String? = email, _ password: String? = password, id: String, idToken: Secret? = nil, name: String? = nil,
    ip: String? = nil
  ) throws -> SignUp {
    var credential = PasswordCredential(email: email, password: password)
    credential.displayName = name
    var command = SignUp(project: Self.project, replyKey: replyKey.publicKey.jwk)
    command.credential = try sealBound(credential.text(), SignUp.self, id)
    command.idToken = try idToken.map { try sealBound($0, SignUp.self, id) }
    command.client = ip.map { StartVerification.Client(ip: $0) }
    return command
  }

  /// Makes an account with a password, or adds one to that of an ID token.
  func signUp(
    email: String?, _ password: String? = password, id: String? = nil, idToken: Secret? = nil, name: String? = nil,
    ip: String? = nil
  ) async throws -> Answer {
    let id = id ?? nextID()
    let command = try signingUp(email, password, id: id, idToken: idToken, name: name, ip: ip)
    return try answer(try await ask(command, id: id), id)
  }

  func signingIn(
    _ email: String? = email, _ password: String? = password, id: String, ip: String? = nil
  ) throws -> SignInWithPassword {
    let credential = PasswordCredential(email: email, password: password)
    var command = SignInWithPassword(
      project: Self.project, credential: try sealBound(credential.text(), SignInWithPassword.self, id),
      replyKey: replyKey.publicKey.jwk)
    command.client = ip.map { StartVerification.Client(ip: $0) }
    return command
  }

  func signIn(
    email: String?, _ password: String? = password, id: String? = nil, ip: String? = nil
  ) async throws -> Answer {
    let id = id ?? nextID()
    return try answer(try await ask(signingIn(email, password, id: id, ip: ip), id: id), id)
  }

  func methods(of email: String?) async throws -> MethodsFound {
    let id = nextID()
    let credential = try PasswordCredential(email: email).text()
    let command = FindMethods(project: Self.project, credential: try seal(credential, FindMethods.self, id))
    return try MethodsFound(json: try await ask(command, id: id).body)
  }

  struct Changed {
    var account: AccountView?
    var idToken: Secret?
    var refreshToken: Secret?
    var error: APIError?
  }

  /// Changes address or password by an ID token.
  func change(
    _ idToken: Secret?, email: String? = nil, password: String? = nil, id: String? = nil,
    _ change: (inout UpdateAccount) -> Void = { _ in }
  ) async throws -> Changed {
    let id = id ?? nextID()
    var command = UpdateAccount(
      project: Self.project, idToken: try sealBound(try #require(idToken), UpdateAccount.self, id))
    let credential = PasswordCredential(email: email, password: password)
    command.credential = try sealBound(credential.text(), UpdateAccount.self, id)
    command.replyKey = replyKey.publicKey.jwk
    change(&command)
    let reply = try await ask(command, id: id)
    guard reply.type != ErrorReply.type.text else { return Changed(error: try ErrorReply(json: reply.body).error) }
    let body = try AccountChanged(json: reply.body)
    return Changed(
      account: body.account,
      idToken: try body.tokens.map { try opened($0.idToken, AccountChanged.type, id: id) },
      refreshToken: try body.tokens.map { try opened($0.refreshToken, AccountChanged.type, id: id) })
  }

  func passwordHash(of account: AccountRecord) async throws -> PasswordHash? {
    try await look { set throws(StoreError) in try PasswordRecord.find(account.id, in: set)?.hash }
  }

  /// Stores a hash as an import does.
  func store(_ hash: PasswordHash, of account: AccountRecord) async throws {
    try await change(account) { account, set throws(StoreError) in try account.setPassword(hash, in: &set) }
  }

  func verifyEmail(of user: Answer) async throws {
    let account = try #require(try await account(of: user))
    try await change(account) { account, _ in account.isEmailVerified = true }
  }

  func fields(ofUpdates event: String = "account.updated") throws -> [[String]] {
    try events(event).map { try AccountUpdated(json: $0.message.body).fields }
  }

  func providers(of event: String) throws -> [String] {
    struct Way: MessageBody {
      static let type = MessageType("any")
      var provider: String
    }
    return try events(event).map { try Way(json: $0.message.body).provider }
  }
}
