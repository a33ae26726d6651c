import CountersignAMQP
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import Projects
import TestSupport
import Testing

@testable import Accounts

extension AccountsBench {
  static let methods: Set<Project.Method> = [
    .phone, .anonymous, .provider("apple.com"), .provider("google.com"), .provider("facebook.com"),
  ]
  static let apps = [
    ProjectApp(id: app, platform: .ios, appID: "1:100000000001:ios:0123456789abcdef"),
    ProjectApp(id: "com.example.other", platform: .ios, appID: "1:100000000001:ios:0123456789abcdee"),
  ]

  func use(_ methods: Set<Project.Method> = methods, _ recentLogin: Project.RecentLogin = .init()) {
    var project = Project(id: Self.project, number: 100_000_000_001)
    project.methods = methods
    project.recentLogin = recentLogin
    project.apps = Self.apps
    parts.rules.projects.take(Projects([project]))
  }

  func command(
    _ id: String, session: String = "v1", code: String = "123456", app: String? = AccountsBench.app,
    idToken: Secret? = nil, operation: SignInWithPhone.Operation? = nil
  ) throws -> SignInWithPhone {
    var command = SignInWithPhone(project: Self.project, replyKey: replyKey.publicKey.jwk)
    command.app = app
    command.sessionInfo = try seal(Secret(session), SignInWithPhone.self, id)
    command.code = try seal(Secret(code), SignInWithPhone.self, id)
    command.idToken = try idToken.map { try seal($0, SignInWithPhone.self, id) }
    command.operation = operation
    return command
  }

  func command(
    _ id: String, proof: Secret, number: String = AccountsBench.number, app: String? = AccountsBench.app,
    idToken: Secret? = nil
  ) throws -> SignInWithPhone {
    var command = SignInWithPhone(project: Self.project, replyKey: replyKey.publicKey.jwk)
    command.app = app
    command.temporaryProof = try seal(proof, SignInWithPhone.self, id)
    command.phoneNumber = number
    command.idToken = try idToken.map { try seal($0, SignInWithPhone.self, id) }
    return command
  }

  func seal<Body: Command>(_ secret: Secret, _ type: Body.Type, _ id: String) throws -> SecretField {
    try sealed(secret, Body.type, id: id)
  }

  /// Checks that were sent to the coordinator, and are not answered.
  var checks: [Publication] { sink.published.filter { $0.exchange == Topology.Exchanges.commands } }

  func events(_ name: String) -> [Publication] {
    sink.published.filter { $0.exchange == Topology.Exchanges.events && $0.routingKey == name }
  }

  /// Carries a command out, with the coordinator's answer.
  func signIn(_ command: SignInWithPhone, _ id: String) async throws -> Answer {
    if let reply = try await send(command, id: id) { return try answer(reply, id) }
    let check = try #require(checks.first)
    await report(try coordinator.answer(check, at: clock.now()))
    return try answer(try #require(replies.first), id)
  }

  func signIn(
    _ id: String, verification: ScriptedCoordinator.Verification = .init(), idToken: Secret? = nil,
    operation: SignInWithPhone.Operation? = nil
  ) async throws -> Answer {
    coordinator.verifications["v-\(id)"] = verification
    return try await signIn(command(id, session: "v-\(id)", idToken: idToken, operation: operation), id)
  }

  func signUp(_ id: String, ip: String? = nil) async throws -> Answer {
    var command = SignUp(project: Self.project, replyKey: replyKey.publicKey.jwk)
    command.client = ip.map { StartVerification.Client(ip: $0) }
    return try answer(try await ask(command, id: id), id)
  }

  struct Answer {
    var reply = AccountSignedIn()
    var idToken: Secret?
    var refreshToken: Secret?
    var proof: Secret?
    var pending: Secret?
    var identity: SignedInIdentity?
    var claims: VerifiedIDToken?
    var ways: Ways?
    var error: APIError?
  }

  struct Ways: Decodable, Hashable {
    struct Firebase: Decodable, Hashable {
      var provider: String
      var identities: [String: [String]]

      enum CodingKeys: String, CodingKey {
        case provider = "sign_in_provider"
        case identities
      }
    }

    var providerID: String?
    var number: String?
    var email: String?
    var isEmailVerified: Bool?
    var firebase: Firebase

    enum CodingKeys: String, CodingKey {
      case providerID = "provider_id"
      case number = "phone_number"
      case isEmailVerified = "email_verified"
      case email, firebase
    }

    var provider: String { firebase.provider }

    init(_ token: Secret) throws {
      let parts = token.reveal().split(separator: ".")
      let json = try #require(Base64URL.decode(String(parts[1])))
      self = try JSONDecoder().decode(Self.self, from: Data(json))
    }
  }

  func answer(_ message: Message, _ id: String) throws -> Answer {
    guard message.type != ErrorReply.type.text else { return Answer(error: try ErrorReply(json: message.body).error) }
    var answer = Answer(reply: try AccountSignedIn(json: message.body))
    func open(_ field: SecretField?) throws -> Secret? {
      try field.map { try opened($0, AccountSignedIn.type, id: id) }
    }
    answer.idToken = try open(answer.reply.tokens?.idToken)
    answer.refreshToken = try open(answer.reply.tokens?.refreshToken)
    answer.proof = try open(answer.reply.temporaryProof)
    answer.pending = try open(answer.reply.pendingToken)
    answer.identity = try open(answer.reply.identity).map { try SignedInIdentity(text: $0) }
    answer.ways = try answer.idToken.map { try Ways($0) }
    answer.claims = try answer.idToken.map {
      try parts.idTokens.verify($0, project: Self.project, at: clock.now())
    }
    return answer
  }

  func lookUp(_ idToken: Secret) async throws -> Result<AccountView, APIError> {
    let id = nextID()
    let reply = try await ask(lookingUp(idToken, id: id), id: id)
    if reply.type == ErrorReply.type.text { return .failure(try ErrorReply(json: reply.body).error) }
    return .success(try AccountFound(json: reply.body).account)
  }

  /// Reason that an ID token does not count. `nil` for one that does.
  func refusal(of idToken: Secret?) async throws -> APIError? {
    guard case .failure(let error) = try await lookUp(try #require(idToken)) else { return nil }
    return error
  }

  func update(
    _ idToken: Secret?, _ id: String? = nil, _ change: (inout UpdateAccount) -> Void
  ) async throws -> Message {
    let id = id ?? nextID()
    var command = UpdateAccount(
      project: Self.project, idToken: try seal(try #require(idToken), UpdateAccount.self, id))
    change(&command)
    return try await ask(command, id: id)
  }

  func unlink(_ idToken: Secret?) async throws -> Message {
    try await update(idToken) { $0.deleteProviders = ["phone"] }
  }

  func lookingUp(_ idToken: Secret, id: String) throws -> LookUpAccount {
    LookUpAccount(project: Self.project, idToken: try seal(idToken, LookUpAccount.self, id))
  }

  func refreshing(
    _ refreshToken: Secret, id: String, project: String = AccountsBench.project
  ) throws -> RefreshSession {
    RefreshSession(
      project: project, refreshToken: try seal(refreshToken, RefreshSession.self, id),
      replyKey: replyKey.publicKey.jwk)
  }

  func refresh(_ refreshToken: Secret?, id: String? = nil) async throws -> Secret {
    let id = id ?? nextID()
    let reply = try await ask(refreshing(try #require(refreshToken), id: id), id: id)
    return try opened(SessionRefreshed(json: reply.body).tokens.idToken, SessionRefreshed.type, id: id)
  }

  func delete(_ idToken: Secret, id: String? = nil) async throws -> Message {
    let id = id ?? nextID()
    let command = DeleteAccount(project: Self.project, idToken: try seal(idToken, DeleteAccount.self, id))
    return try await ask(command, id: id)
  }
}
