import CountersignCryptography
import CountersignTelemetry
import HTTPClient
import JobEngine

/// The lanes to Apple's push services: one for each service and each credential, because Apple judges a connection by
/// the first credential it was shown, and because a bad key of one team must not stop the pushes of another.
struct APNsRoutes: Sendable {
  private(set) var lanes: [APNsLane] = []
  private(set) var configurations: [LaneConfiguration] = []
  /// Provider tokens, one set for each team key.
  private(set) var tokens: [ProviderTokens] = []
  private let settings: [AppSettings]
  private var accounts: [Account] = []

  /// Maximum number of pushes in flight on one connection, a limit of libcurl.
  static let width = 100
  /// Time an idle connection is kept: Apple asks to leave connections open.
  private static let maxIdle: Duration = .seconds(600)
  private static let maxLifetime: Duration = .seconds(12 * 3600)

  /// A credential that one or more apps push with.
  private struct Account: Sendable {
    let identity: Identity
    let settings: APNsCredential
    let credential: APNsLane.Credential
    /// Suffix of its lanes' names; empty where it is the only one.
    let suffix: String
    var names: [APNsEnvironment: String] = [:]
  }

  private enum Identity: Hashable {
    case key(team: String, key: String)
    case certificate(APNsCredential.Certificate)

    init?(_ settings: APNsCredential) {
      switch settings {
      case .key(let key): self = .key(team: key.teamID, key: key.keyID)
      case .certificate(let certificate): self = .certificate(certificate)
      case .invalid: return nil
      }
    }

    func label(number: Int) -> String {
      switch self {
      case .key(_, let key): key
      case .certificate: "certificate\(number)"
      }
    }
  }

  /// - Parameters:
  ///   - settings: apps of the configuration.
  ///   - tokenLife: age at which a provider token is renewed.
  init(_ settings: [AppSettings], tokenLife: Duration) {
    self.settings = settings
    let credentials = settings.compactMap { $0.push?.credential }
    let isOnly = Set(credentials.compactMap(Identity.init)).count == 1
    for credential in credentials {
      guard let identity = Identity(credential), !accounts.contains(where: { $0.identity == identity }) else {
        continue
      }
      accounts.append(
        Account(
          identity: identity, settings: credential, credential: makeCredential(credential, tokenLife),
          suffix: isOnly ? "" : "-\(identity.label(number: accounts.count + 1))"))
    }
  }

  /// Adds the lanes of one entry of `lanes`, one for each credential.
  ///
  /// - Throws: when a file of certificates cannot be used.
  mutating func add(
    _ provider: APNsProvider, _ entry: PushLaneSettings, table: ProviderTable, clocks: Clocks
  ) throws(WorkerError) {
    for index in accounts.indices {
      let account = accounts[index]
      var lane = entry.lane
      lane.name += account.suffix
      let transport = Self.transport(entry, account.settings)
      try Self.checkFiles(transport, of: entry)
      let api = APNsAPI(
        environment: provider.environment, baseURL: provider.baseURL, answerTimeout: provider.answerTimeout,
        table: table, clock: clocks.wall)
      lanes.append(
        APNsLane(
          name: lane.name, api: api, credential: account.credential,
          pool: Self.pool(connections: provider.connections, transport), clocks: clocks))
      configurations.append(lane)
      accounts[index].names[provider.environment] = lane.name
    }
  }

  /// The apps that are pushed to, by bundle ID, with the lanes added so far.
  var apps: [String: PushApp] {
    var apps: [String: PushApp] = [:]
    for app in settings {
      guard let push = app.push, let identity = Identity(push.credential) else { continue }
      let names = accounts.first { $0.identity == identity }?.names ?? [:]
      apps[app.bundleID] = PushApp(topic: push.topic, payload: push.payload, lanes: names)
    }
    return apps
  }

  private mutating func makeCredential(_ settings: APNsCredential, _ life: Duration) -> APNsLane.Credential {
    guard case .key(let key) = settings else { return .certificate }
    let tokens = ProviderTokens(teamID: key.teamID, key: key.key, life: life)
    self.tokens.append(tokens)
    return .tokens(tokens)
  }

  private static func pool(connections: Int, _ transport: HTTPClient.Configuration) -> ConnectionPool {
    ConnectionPool(ConnectionSelector(limit: connections, width: width)) { () throws(TransportError) in
      try HTTPClient(transport)
    }
  }

  /// Settings of one connection.
  private static func transport(_ entry: PushLaneSettings, _ settings: APNsCredential) -> HTTPClient.Configuration {
    var transport = HTTPClient.Configuration(
      maxConcurrent: width, maxWaiting: entry.lane.concurrency, maxConnectionsPerHost: 1, maxIdle: maxIdle,
      maxLifetime: maxLifetime, caFile: entry.caFile, userAgent: "countersign-push-worker", version: .http2)
    if case .certificate(let certificate) = settings {
      transport.clientCertificateFile = certificate.certificateFile
      transport.clientKeyFile = certificate.keyFile
    }
    return transport
  }

  /// Connections are opened when they are needed; problems with their files must show at the start.
  private static func checkFiles(
    _ transport: HTTPClient.Configuration, of entry: PushLaneSettings
  ) throws(WorkerError) {
    do {
      _ = try HTTPClient(transport)
    } catch {
      throw WorkerError(.invalidConfiguration, "lane \(entry.lane.name): \(error)")
    }
  }
}
