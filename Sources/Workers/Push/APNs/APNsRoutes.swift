import CountersignCryptography
import CountersignTelemetry
import HTTPClient
import JobEngine

/// The lanes to Apple's push services, made from the configuration: one for each service and each credential, since Apple judges a
/// connection by the credential that it was shown first, and since one team's bad key is no reason not to push for another.
struct APNsRoutes: Sendable {
  private(set) var apps: [String: PushApp] = [:]
  private(set) var lanes: [APNsLane] = []
  private(set) var configurations: [LaneConfiguration] = []
  private(set) var tokens: [ProviderTokens] = []

  /// Pushes under way on one connection: what libcurl allows.
  static let width = 100
  /// An idle connection is kept for so long: Apple asks to leave connections open.
  private static let maxIdle: Duration = .seconds(600)
  private static let maxLifetime: Duration = .seconds(12 * 3600)

  /// Tells credentials apart.
  private enum Identity: Hashable {
    case key(team: String, key: String)
    case certificate(CredentialSettings.Certificate)

    init?(_ settings: CredentialSettings) {
      switch settings {
      case .key(let key): self = .key(team: key.teamID, key: key.keyID)
      case .certificate(let certificate): self = .certificate(certificate)
      case .invalid: return nil
      }
    }
  }

  /// - Throws: when a file of certificates cannot be used.
  init(_ configuration: PushWorkerConfiguration, clocks: Clocks) throws(WorkerError) {
    var known: [Identity: [APNsEnvironment: String]] = [:]
    let identities = configuration.apps.compactMap { $0.push.flatMap { Identity($0.credential) } }
    let isOnly = Set(identities).count == 1
    for app in configuration.apps {
      guard let push = app.push, let identity = Identity(push.credential) else { continue }
      if known[identity] == nil {
        known[identity] = try addLanes(
          configuration, push.credential, suffix: isOnly ? "" : "-\(Self.label(identity, number: known.count + 1))",
          clocks)
      }
      apps[app.bundleID] = PushApp(topic: push.topic, payload: push.payload, lanes: known[identity] ?? [:])
    }
  }

  private static func label(_ identity: Identity, number: Int) -> String {
    switch identity {
    case .key(_, let key): key
    case .certificate: "certificate\(number)"
    }
  }

  /// Adds the lanes of a credential, and says what they are called.
  private mutating func addLanes(
    _ configuration: PushWorkerConfiguration, _ settings: CredentialSettings, suffix: String, _ clocks: Clocks
  ) throws(WorkerError) -> [APNsEnvironment: String] {
    let credential = credential(settings, life: configuration.tokenLife)
    var names: [APNsEnvironment: String] = [:]
    for entry in configuration.lanes {
      guard case .apns(let apns) = entry.provider else { continue }
      var lane = entry.lane
      lane.name += suffix
      try Self.checkFiles(entry, settings)
      lanes.append(
        APNsLane(
          name: lane.name, environment: apns.environment, baseURL: apns.baseURL, credential: credential,
          answerTimeout: apns.answerTimeout, table: configuration.tables.apns,
          pool: Self.pool(apns, Self.transport(entry, settings)), clocks: clocks))
      configurations.append(lane)
      names[apns.environment] = lane.name
    }
    return names
  }

  private mutating func credential(_ settings: CredentialSettings, life: Duration) -> APNsLane.Credential {
    guard case .key(let key) = settings else { return .certificate }
    let tokens = ProviderTokens(teamID: key.teamID, key: key.key, life: life)
    self.tokens.append(tokens)
    return .tokens(tokens)
  }

  private static func pool(_ settings: APNsSettings, _ transport: HTTPClient.Configuration) -> ConnectionPool {
    ConnectionPool(ConnectionBook(limit: settings.connections, width: width)) { () throws(TransportError) in
      try HTTPClient(transport)
    }
  }

  /// One connection.
  private static func transport(_ lane: LaneSettings, _ settings: CredentialSettings) -> HTTPClient.Configuration {
    var transport = HTTPClient.Configuration(
      maxConcurrent: width, maxWaiting: lane.lane.concurrency, maxConnectionsPerHost: 1, maxIdle: maxIdle,
      maxLifetime: maxLifetime, caFile: lane.caFile, userAgent: "countersign-push-worker", version: .http2)
    if case .certificate(let certificate) = settings {
      transport.clientCertificateFile = certificate.certificateFile
      transport.clientKeyFile = certificate.keyFile
    }
    return transport
  }

  /// Connections are made when they are needed; what is wrong with their files is to show at the start.
  private static func checkFiles(
    _ lane: LaneSettings, _ settings: CredentialSettings
  ) throws(WorkerError) {
    do {
      _ = try HTTPClient(transport(lane, settings))
    } catch {
      throw WorkerError(.invalidConfiguration, "lane \(lane.lane.name): \(error)")
    }
  }
}
