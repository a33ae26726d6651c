import CommandEngine
import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import Projects
import Synchronization
import TestSupport
import Testing

@testable import Accounts

/// Accounts without a broker, with a coordinator that answers.
final class AccountsBench: EngineBench {
  static let author = Author(appID: "accounts", userID: Topology.Users.accounts)
  static let project = "example-project"
  static let otherProject = "other-project"
  static let app = "com.example.app"
  static let number = "+16505550123"

  let parts: AccountParts
  /// Counts the loads of each transaction and look.
  let store: FaultyStore
  let secrets: BenchSecrets
  let replyKey: PrivateSealingKey
  let coordinator: ScriptedCoordinator
  private var file: StoreFile?

  /// Settings of a process, and what outlives it.
  struct Setting {
    var clock = ManualClock()
    var secrets: BenchSecrets
    var isDevelopment = false
    var limits = Limits()
    /// Issuers of the projects' OpenID Connect providers.
    var issuers: OpenIDIssuers?
    var rotatedAfter = Duration.seconds(30 * 86_400)
    var replyKey: PrivateSealingKey
    let coordinator: ScriptedCoordinator
    var exchange: ExchangedCodes.Exchange
    /// Runs in each pause of a reset, beside the time that goes by.
    var inPause: @Sendable () async -> Void = {}

    init() throws {
      replyKey = try PrivateSealingKey.generate(id: "reply")
      secrets = try BenchSecrets()
      coordinator = ScriptedCoordinator(keys: secrets.secrets.keys)
      let codes = ExchangedCodes()
      exchange = { codes.take($0) }
    }
  }

  init(_ store: any Store, _ setting: Setting) async throws {
    let (sink, metrics, logs) = (Self.makeSink(Self.author), MetricsRegistry(), MemorySink())
    let logger = Logger(label: "test", sink: logs)
    var rules = AccountRules(projects: ProjectsSource(Self.projects))
    rules.isDevelopment = setting.isDevelopment
    rules.limits = setting.limits
    rules.keys.rotatedAfter = setting.rotatedAfter
    let providers = FakeProvider.all.map { provider in
      var provider = provider
      provider.grants = GrantSealer(setting.secrets.secrets.tokenKeys)
      provider.exchange = setting.exchange
      return provider
    }
    let parts = try #require(
      AccountParts(
        rules, setting.secrets.secrets, providers: IdentityProviders(providers, setting.issuers), metrics: metrics,
        logger: logger))
    self.parts = parts
    self.store = FaultyStore(store)
    secrets = setting.secrets
    replyKey = setting.replyKey
    coordinator = setting.coordinator
    super.init(
      EngineContext(
        AccountFlows(parts) { [clock = setting.clock, inPause = setting.inPause] pause in
          clock.advance(by: pause)
          await inPause()
        }.registry, store: self.store, rules: rules.engine, sink: sink, author: Self.author,
        clock: setting.clock, metrics: EngineMetrics(metrics), logger: logger),
      clock: setting.clock, sink: sink, registry: metrics, logs: logs, user: "gateway", isTimed: true)
    try await maintenance.begin()
  }

  /// On a file of its own, which goes with the bench.
  convenience init(_ change: (inout Setting) throws -> Void = { _ in }) async throws {
    var setting = try Setting()
    try change(&setting)
    let file = try StoreFile()
    try await self.init(file.open(), setting)
    self.file = file
  }

  /// Runs a body that opens accounts, possibly several times on one file, with settings that it may change.
  static func several(
    _ body: (inout Setting, _ start: (Setting) async throws -> AccountsBench) async throws -> Void
  ) async throws {
    try await StoreFile.with { file in
      var setting = try Setting()
      try await body(&setting) { try await AccountsBench(file.open(), $0) }
    }
  }

  static func with(
    _ change: (inout Setting) throws -> Void = { _ in }, _ body: (AccountsBench) async throws -> Void
  ) async throws {
    try await body(AccountsBench(change))
  }

  static let projects: Projects = {
    var projects: [Project] = []
    for (number, id) in [project, otherProject].enumerated() {
      var project = Project(id: id, number: UInt64(100_000_000_001 + number))
      project.methods = methods
      project.apps = id == AccountsBench.project ? apps : []
      projects.append(project)
    }
    return Projects(projects)
  }()

  /// Delivers messages in one batch, and forgets what was published before.
  func deliver(batch messages: [Message]) async {
    _ = sink.takePublished()
    await deliver(batches: [messages])
  }

  /// A secret, sealed for a command. Bound to the requester's key if its reply has secrets.
  func sealed(_ secret: Secret, _ type: MessageType, id: String) throws -> SecretField {
    let isBound = [SignInWithPhone.type, SignInWithIDP.type, RefreshSession.type].contains(type)
    let context = AccountCommandFields.context(
      of: type, messageID: id, replyKey: isBound ? replyKey.publicKey.jwk : nil)
    return try PublicSealer(key: secrets.sealingKey.publicKey).seal(secret, for: context)
  }

  func opened(_ field: SecretField, _ type: MessageType, id: String) throws -> Secret {
    try field.open(
      with: PrivateSealingKeys([replyKey]),
      for: SealContext(messageType: type, messageID: id, recipient: AccountCommandFields.replyRecipient))
  }

  func look<Value: Sendable>(
    _ body: @escaping @Sendable (inout WorkingSet) throws(StoreError) -> Value
  ) async throws -> Value {
    try await store.read(StoreKeys(), at: clock.now(), body)
  }

  @discardableResult
  func transact<Value: Sendable>(
    _ body: @escaping @Sendable (inout WorkingSet) throws(StoreError) -> Value
  ) async throws -> Value {
    switch try await store.transact(at: clock.now(), body) {
    case .stored(let value, _): return value
    case .conflict(let conflict): throw StoreError(.conflict, conflict.description)
    }
  }

  func signIn(
    project: String = project, number: String? = number, provider: SignInProvider = .phone
  ) async throws -> IDTokenCheck.Holder {
    let (sessions, random) = (parts.sessions, RandomValues())
    return try await transact { set throws(StoreError) in
      var account = try AccountRecord(random.localID, project: project, at: set.now)
      account.phoneNumber = number
      account.isAnonymous = provider == .anonymous
      let session = try sessions.start(for: &account, isNew: true, by: provider, random, in: &set)
      try account.store(isNew: true, in: &set)
      return IDTokenCheck.Holder(account: account, session: session)
    }
  }

  func change(
    _ account: AccountRecord,
    _ body: @escaping @Sendable (inout AccountRecord, inout WorkingSet) throws(StoreError) -> Void
  ) async throws {
    try await transact { set throws(StoreError) in
      guard var stored = try AccountRecord.find(account.localID, project: account.project, in: set) else { return }
      try body(&stored, &set)
      if try set.record(stored.id) != nil { try stored.store(in: &set) }
    }
  }

  func find(_ localID: String?, project: String = project) async throws -> AccountRecord? {
    let id = try #require(localID)
    return try await look { set throws(StoreError) in try AccountRecord.find(id, project: project, in: set) }
  }

  func find(_ account: AccountRecord) async throws -> AccountRecord? {
    try await find(account.localID, project: account.project)
  }

  func account(of answer: Answer) async throws -> AccountRecord? { try await find(answer.reply.localID) }

  func sessions(of account: AccountRecord) async throws -> [SessionRecord] {
    try await look { set throws(StoreError) in
      try set.group(SessionRecord.group(ofAccount: account.id)).records
    }.map { try SessionRecord($0) }
  }

  func idToken(of holder: IDTokenCheck.Holder) throws -> Secret {
    try parts.idTokens.idToken(for: holder.account, holder.session, at: clock.now())
  }

  func refreshToken(of holder: IDTokenCheck.Holder) -> Secret { parts.idTokens.refreshTokens.make(for: holder.session) }

  func verified(_ token: Secret) throws -> VerifiedIDToken {
    try parts.idTokens.verify(token, project: Self.project, at: clock.now())
  }
}

struct BenchSecrets {
  let sealingKey: PrivateSealingKey
  var tokenKeys: KeyRing
  var secrets: AccountParts.Secrets

  init() throws {
    sealingKey = try PrivateSealingKey.generate(id: "accounts")
    tokenKeys = try KeyRing(sealing: Self.key("tokens.1"))
    secrets = AccountParts.Secrets(
      hashes: try #require(AccountHashes(pepper: SecureRandom.bytes(32))),
      keys: try KeyRing(sealing: Self.key("shared")), tokenKeys: tokenKeys,
      sealingKeys: try PrivateSealingKeys([sealingKey]), generate: BenchSigningKeys().next)
  }

  static func key(_ id: String) throws -> SymmetricKey {
    try SymmetricKey(id: id, bytes: SecureRandom.bytes(SymmetricKey.length))
  }

  mutating func use(_ ring: KeyRing) {
    tokenKeys = ring
    secrets.tokenKeys = ring
  }
}

/// Signing keys that were made once for all tests: to make one, OpenSSL computes for a tenth of a second and more.
private final class BenchSigningKeys: Sendable {
  private static let made = Result { () throws(JOSEError) in
    try (0..<8).map { number throws(JOSEError) in try SigningKey.generateRSA(id: "\(number)").pkcs8() }
  }

  private let taken = Atomic(0)

  /// Another key each time, until all have been taken.
  var next: SigningKeyGenerator {
    { id throws(JOSEError) in
      let made = try Self.made.get()
      let place = self.taken.wrappingAdd(1, ordering: .relaxed).oldValue
      return try SigningKey(pkcs8: made[place % made.count], id: id)
    }
  }
}
