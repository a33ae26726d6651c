import CountersignCryptography
import CountersignTelemetry
import HTTPClient
import JobEngine

/// Each has a lane to each push service, because Apple judges a connection by the first credential it was shown, and
/// because a bad key of one team must not stop the pushes of another.
struct APNsAccount: Sendable {
  /// A limit of libcurl.
  static let width = 100
  /// Apple asks to leave connections open.
  private static let maxIdle: Duration = .seconds(600)
  private static let maxLifetime: Duration = .seconds(12 * 3600)

  let identity: Identity
  private(set) var apps: [String]
  private let settings: APNsCredential
  /// Empty where it is the only one.
  private let suffix: String

  enum Identity: Hashable {
    case key(team: String, key: String)
    case certificate(APNsCredential.Certificate)

    init?(_ settings: APNsCredential) {
      switch settings {
      case .key(let key): self = .key(team: key.teamID, key: key.keyID)
      case .certificate(let certificate): self = .certificate(certificate)
      case .invalid: return nil
      }
    }

    fileprivate func label(number: Int) -> String {
      switch self {
      case .key(_, let key): key
      case .certificate: "certificate\(number)"
      }
    }
  }

  static func all(_ apps: [AppSettings]) -> [APNsAccount] {
    let credentials = apps.compactMap { app in
      app.push.flatMap { push in Identity(push.credential).map { ($0, push.credential, app.bundleID) } }
    }
    let isOnly = Set(credentials.map(\.0)).count == 1
    var accounts: [APNsAccount] = []
    for (identity, settings, app) in credentials {
      if let known = accounts.firstIndex(where: { $0.identity == identity }) {
        accounts[known].apps.append(app)
        continue
      }
      let suffix = isOnly ? "" : "-\(identity.label(number: accounts.count + 1))"
      accounts.append(APNsAccount(identity: identity, apps: [app], settings: settings, suffix: suffix))
    }
    return accounts
  }

  func configuration(_ entry: PushLaneSettings) -> LaneConfiguration {
    var lane = entry.lane
    lane.name += suffix
    return lane
  }

  func lane(
    _ provider: APNsProvider, _ entry: PushLaneSettings, _ context: PushLaneContext, tokens: ProviderTokens?
  ) throws(WorkerError) -> APNsLane {
    let transport = transport(entry)
    try Self.checkFiles(transport, of: entry)
    let api = APNsAPI(
      environment: provider.environment, baseURL: provider.baseURL, answerTimeout: provider.answerTimeout,
      table: context.tables[APNsProvider.tables[0]], clock: context.clocks.wall)
    return APNsLane(
      name: configuration(entry).name, api: api, credential: credential(tokens, context.tokenLife),
      pool: Self.pool(connections: provider.connections, transport), clocks: context.clocks)
  }

  private func credential(_ tokens: ProviderTokens?, _ life: Duration) -> APNsLane.Credential {
    guard case .key(let key) = settings else { return .certificate }
    return .tokens(tokens ?? ProviderTokens(teamID: key.teamID, key: key.key, life: life))
  }

  private static func pool(connections: Int, _ transport: HTTPClient.Configuration) -> ConnectionPool {
    ConnectionPool(ConnectionSelector(limit: connections, width: width)) { () throws(TransportError) in
      try HTTPClient(transport)
    }
  }

  private func transport(_ entry: PushLaneSettings) -> HTTPClient.Configuration {
    var transport = HTTPClient.Configuration(
      maxConcurrent: Self.width, maxWaiting: entry.lane.concurrency,
      pool: HTTPClient.Configuration.Pool(maxPerHost: 1, maxIdle: Self.maxIdle, maxLifetime: Self.maxLifetime),
      caFile: entry.caFile, userAgent: "countersign-\(PushVerifier.program)", version: .http2)
    if case .certificate(let certificate) = settings {
      transport.clientCertificate = HTTPClient.Configuration.ClientCertificate(
        file: certificate.certificateFile, keyFile: certificate.keyFile)
    }
    return transport
  }

  /// Connections are opened when they are needed. Problems with their files must show at the start.
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

extension PushRoutes {
  var pools: [ConnectionPool] { lanes.compactMap { ($0 as? APNsLane)?.pool } }

  var tokens: [ProviderTokens] {
    lanes.reduce(into: []) { found, lane in
      guard case .tokens(let tokens)? = (lane as? APNsLane)?.credential, !found.contains(where: { $0 === tokens })
      else { return }
      found.append(tokens)
    }
  }

  func tokens(of identity: APNsAccount.Identity) -> ProviderTokens? {
    guard case .key(let team, let key) = identity else { return nil }
    return tokens.first { $0.teamID == team && $0.keyID == key }
  }
}
