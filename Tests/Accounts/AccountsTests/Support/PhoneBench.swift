import CommandEngine
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

/// Accounts with a coordinator that answers.
final class PhoneBench {
  static let app = "com.example.app"

  let bench: AccountsBench
  let coordinator: ScriptedCoordinator
  /// Methods that the project has switched on.
  static let methods: Set<Project.Method> = [.phone, .anonymous]

  private init(_ bench: AccountsBench, _ coordinator: ScriptedCoordinator) {
    self.bench = bench
    self.coordinator = coordinator
    use()
  }

  var clock: ManualClock { bench.clock }

  /// Puts methods and rules of the project in force.
  func use(_ methods: Set<Project.Method> = PhoneBench.methods, _ recentLogin: Project.RecentLogin = .init()) {
    var project = Project(id: AccountsBench.project, number: 100_000_000_001)
    project.methods = methods
    project.recentLogin = recentLogin
    project.apps = [
      ProjectApp(id: Self.app, platform: .ios, appID: "1:100000000001:ios:0123456789abcdef"),
      ProjectApp(id: "com.example.other", platform: .ios, appID: "1:100000000001:ios:0123456789abcdee"),
    ]
    bench.parts.rules.projects.take(Projects([project]))
  }

  /// Runs a body that opens accounts, possibly several times on one store.
  static func with(
    _ kind: BenchStore, _ body: (_ start: () async throws -> PhoneBench) async throws -> Void
  ) async throws {
    try await with(kind, changing: { setting, start in try await body { try await start(setting) } })
  }

  /// The same with settings that may change between two starts.
  static func with(
    _ kind: BenchStore,
    changing body: (
      AccountsBench.Setting, _ start: @escaping (AccountsBench.Setting) async throws -> PhoneBench
    ) async throws -> Void
  ) async throws {
    let setting = try AccountsBench.Setting()
    let coordinator = ScriptedCoordinator(keys: setting.secrets.secrets.keys)
    switch kind {
    case .memory:
      let contents = MemoryStore.Contents()
      try await body(setting) { PhoneBench(try await AccountsBench(MemoryStore(contents), $0), coordinator) }
    case .sqlite:
      let directory = FileManager.default.temporaryDirectory.appending(path: "phones-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: directory) }
      let path = directory.appending(path: "accounts.sqlite").path(percentEncoded: false)
      try await body(setting) { PhoneBench(try await AccountsBench(SQLiteStore.open(path: path), $0), coordinator) }
    }
  }

  /// Ends as a process does that is killed.
  func die() async { await bench.context.store.close() }

  // MARK: Commands

  /// A command with a code.
  func command(
    _ id: String, session: String = "v1", code: String = "123456", app: String? = PhoneBench.app,
    idToken: Secret? = nil, operation: SignInWithPhone.Operation? = nil
  ) throws -> SignInWithPhone {
    var command = SignInWithPhone(project: AccountsBench.project, replyKey: bench.replyKey.publicKey.jwk)
    command.app = app
    command.sessionInfo = try seal(Secret(session), SignInWithPhone.self, id)
    command.code = try seal(Secret(code), SignInWithPhone.self, id)
    command.idToken = try idToken.map { try seal($0, SignInWithPhone.self, id) }
    command.operation = operation
    return command
  }

  /// A command with a temporary proof.
  func command(
    _ id: String, proof: Secret, number: String = AccountsBench.number, app: String? = PhoneBench.app,
    idToken: Secret? = nil
  ) throws -> SignInWithPhone {
    var command = SignInWithPhone(project: AccountsBench.project, replyKey: bench.replyKey.publicKey.jwk)
    command.app = app
    command.temporaryProof = try seal(proof, SignInWithPhone.self, id)
    command.phoneNumber = number
    command.idToken = try idToken.map { try seal($0, SignInWithPhone.self, id) }
    return command
  }

  func seal<Body: Command>(_ secret: Secret, _ type: Body.Type, _ id: String) throws -> SecretField {
    try bench.sealed(secret, Body.type, id: id)
  }

  // MARK: Answers

  /// Checks that were sent to the coordinator, and are not answered.
  var checks: [Publication] { bench.sink.published.filter { $0.exchange == Topology.Exchanges.commands } }

  var replies: [Message] { bench.sink.published.filter { $0.exchange.isEmpty }.map(\.message) }

  func events(_ name: String) -> [Publication] {
    bench.sink.published.filter { $0.exchange == Topology.Exchanges.events && $0.routingKey == name }
  }

  /// Delivers reports in one batch, and forgets what was published before.
  func report(_ deliveries: Delivery...) async {
    _ = bench.sink.takePublished()
    await bench.context.reportPipeline(MemoryMessageSource([deliveries])).run()
  }

  /// Carries a command out, with the coordinator's answer.
  func signIn(_ command: SignInWithPhone, _ id: String) async throws -> Answer {
    if let reply = try await bench.ask(command, id: id) { return try answer(reply, id) }
    let check = try #require(checks.first)
    await report(try coordinator.answer(check, at: clock.now()))
    return try answer(try #require(replies.first), id)
  }

  /// Signs in with a verification of its own.
  func signIn(
    _ id: String, verification: ScriptedCoordinator.Verification = .init(), idToken: Secret? = nil,
    operation: SignInWithPhone.Operation? = nil
  ) async throws -> Answer {
    coordinator.verifications["v-\(id)"] = verification
    return try await signIn(command(id, session: "v-\(id)", idToken: idToken, operation: operation), id)
  }

  func signUp(_ id: String, ip: String? = nil) async throws -> Answer {
    var command = SignUp(project: AccountsBench.project, replyKey: bench.replyKey.publicKey.jwk)
    command.client = ip.map { StartVerification.Client(ip: $0) }
    return try answer(try #require(try await bench.ask(command, id: id)), id)
  }

  /// An opened reply.
  struct Answer {
    var reply = AccountSignedIn()
    var idToken: Secret?
    var refreshToken: Secret?
    var proof: Secret?
    /// Claims of the ID token.
    var claims: VerifiedIDToken?
    var ways: Ways?
    var error: APIError?
  }

  /// Claims of an ID token about ways to sign in.
  struct Ways: Decodable, Hashable {
    struct Firebase: Decodable, Hashable {
      var provider: String

      enum CodingKeys: String, CodingKey {
        case provider = "sign_in_provider"
      }
    }

    var providerID: String?
    var number: String?
    var firebase: Firebase

    enum CodingKeys: String, CodingKey {
      case providerID = "provider_id"
      case number = "phone_number"
      case firebase
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
      try field.map { try bench.opened($0, AccountSignedIn.type, id: id) }
    }
    answer.idToken = try open(answer.reply.tokens?.idToken)
    answer.refreshToken = try open(answer.reply.tokens?.refreshToken)
    answer.proof = try open(answer.reply.temporaryProof)
    answer.ways = try answer.idToken.map { try Ways($0) }
    answer.claims = try answer.idToken.map {
      try bench.parts.idTokens.verify($0, project: AccountsBench.project, at: clock.now())
    }
    return answer
  }

  // MARK: Profile

  func lookUp(_ idToken: Secret) async throws -> Result<AccountView, APIError> {
    let id = bench.nextID()
    let command = LookUpAccount(project: AccountsBench.project, idToken: try seal(idToken, LookUpAccount.self, id))
    let reply = try #require(try await bench.ask(command, id: id))
    if reply.type == ErrorReply.type.text { return .failure(try ErrorReply(json: reply.body).error) }
    return .success(try AccountFound(json: reply.body).account)
  }

  func update(
    _ idToken: Secret?, _ id: String? = nil, _ change: (inout UpdateAccount) -> Void
  ) async throws -> Message {
    let id = id ?? bench.nextID()
    var command = UpdateAccount(
      project: AccountsBench.project, idToken: try seal(try #require(idToken), UpdateAccount.self, id))
    change(&command)
    return try #require(try await bench.ask(command, id: id))
  }

  /// Takes the number off the account.
  func unlink(_ idToken: Secret?) async throws -> Message {
    try await update(idToken) { $0.deleteProviders = ["phone"] }
  }

  func refresh(_ refreshToken: Secret?, id: String? = nil) async throws -> Secret {
    let id = id ?? bench.nextID()
    let command = RefreshSession(
      project: AccountsBench.project,
      refreshToken: try seal(try #require(refreshToken), RefreshSession.self, id),
      replyKey: bench.replyKey.publicKey.jwk)
    let reply = try #require(try await bench.ask(command, id: id))
    return try bench.opened(SessionRefreshed(json: reply.body).tokens.idToken, SessionRefreshed.type, id: id)
  }

  func delete(_ idToken: Secret, id: String? = nil) async throws -> Message {
    let id = id ?? bench.nextID()
    let command = DeleteAccount(project: AccountsBench.project, idToken: try seal(idToken, DeleteAccount.self, id))
    return try #require(try await bench.ask(command, id: id))
  }
}
