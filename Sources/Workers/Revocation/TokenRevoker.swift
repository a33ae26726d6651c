import CountersignCryptography
public import CountersignTelemetry
import HTTPClient
public import JobEngine
import ServiceRuntime

/// Everything that a `revocation-worker` brings to the engine, made from its configuration.
public struct TokenRevoker: Sendable {
  /// What carries out the jobs.
  public let handler: RevocationJobHandler
  /// The lanes: one for each client of Sign in with Apple.
  public let lanes: [LaneConfiguration]
  private let transports: [HTTPClient]

  /// - Parameters:
  ///   - configuration: The configuration, checked.
  ///   - clock: For client secrets, and dates in `Retry-After`.
  /// - Throws: what an operator has to mend; the message names the lane.
  public init(
    _ configuration: RevocationWorkerConfiguration, clock: any WallClock = SystemClock()
  ) throws(WorkerError) {
    guard let keys = configuration.common.keys else {
      throw WorkerError(.invalidConfiguration, "keysFile: there are no keys to seal tokens with")
    }
    var lanes: [AppleLane] = []
    var clients: [RevocationJobHandler.Client: String] = [:]
    var transports: [HTTPClient] = []
    for settings in configuration.lanes {
      let http = try Self.transport(settings)
      lanes.append(try Self.lane(settings, configuration.table, http, clock))
      transports.append(http)
      for app in settings.apps { clients[.init(app: app, clientID: settings.clientID)] = settings.lane.name }
    }
    self.lanes = configuration.lanes.map(\.lane)
    self.transports = transports
    handler = RevocationJobHandler(
      lanes: lanes, clients: clients, keys: keys, persistence: configuration.persistence)
  }

  private static func lane(
    _ settings: AppleLaneSettings, _ table: ProviderTable, _ http: HTTPClient, _ clock: any WallClock
  ) throws(WorkerError) -> AppleLane {
    guard let key = settings.key else {
      throw WorkerError(.invalidConfiguration, "lane \(settings.lane.name): keyFile holds no usable key")
    }
    return AppleLane(
      name: settings.lane.name, clientID: settings.clientID, baseURL: settings.baseURL,
      secret: ClientSecret(teamID: settings.teamID, clientID: settings.clientID, key: key), table: table, http: http,
      clock: clock)
  }

  /// One for each lane, so that the connections of one client are not those of another.
  private static func transport(_ settings: AppleLaneSettings) throws(WorkerError) -> HTTPClient {
    do {
      return try HTTPClient(
        HTTPClient.Configuration(
          maxConcurrent: settings.lane.concurrency, maxWaiting: settings.lane.concurrency, caFile: settings.caFile,
          userAgent: "countersign-revocation-worker"))
    } catch {
      throw WorkerError(.invalidConfiguration, "lane \(settings.lane.name): \(error)")
    }
  }

  /// Ends the connections to Apple; calls under way fail.
  public func shutdown() async {
    for transport in transports { await transport.shutdown() }
  }
}
