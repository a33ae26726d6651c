import CountersignCryptography
public import CountersignTelemetry
import HTTPClient
public import JobEngine
import ServiceRuntime

/// The revocation worker's part of the engine, made from its configuration.
public struct TokenRevoker: Sendable {
  /// Carries out the jobs.
  public let handler: RevocationJobHandler
  /// The lanes: one for each client of Sign in with Apple.
  public let lanes: [LaneConfiguration]
  private let transports: [HTTPClient]

  /// - Parameters:
  ///   - configuration: checked configuration.
  ///   - clock: clock for client secrets, and for dates in `Retry-After`.
  /// - Throws: a problem that the operator has to fix; the message names the lane.
  public init(
    _ configuration: RevocationWorkerConfiguration, clock: any WallClock = SystemClock()
  ) throws(WorkerError) {
    guard let keys = configuration.common.keys else {
      throw WorkerError(.invalidConfiguration, "keysFile: there are no keys to seal tokens with")
    }
    var lanes: [any RevocationLane] = []
    var clients: [RevocationClient: String] = [:]
    var transports: [HTTPClient] = []
    for entry in configuration.lanes {
      guard let provider = entry.provider else { continue }
      let http = try entry.client()
      transports.append(http)
      lanes.append(
        try provider.makeLane(
          RevocationLaneContext(
            name: entry.lane.name, table: configuration.tables[type(of: provider).table], http: http, clock: clock)))
      for client in provider.clients { clients[client] = entry.lane.name }
    }
    self.lanes = configuration.lanes.map(\.lane)
    self.transports = transports
    handler = RevocationJobHandler(
      lanes: lanes, clients: clients, keys: keys, persistence: configuration.persistence)
  }

  /// Ends the connections to the providers; calls in progress fail.
  public func shutdown() async {
    for transport in transports { await transport.shutdown() }
  }
}
