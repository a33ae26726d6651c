import CountersignCryptography
public import CountersignTelemetry
public import JobEngine
import ServiceRuntime

/// The revocation worker's part of the engine, made from its configuration.
public struct TokenRevoker: Sendable {
  /// Carries out the jobs.
  public let handler: RevocationJobHandler
  /// The lanes: one for each client of Sign in with Apple.
  public let lanes: [LaneConfiguration]
  private let ways: [AppleLane]

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
    var ways: [AppleLane] = []
    var clients: [RevocationClient: String] = [:]
    for entry in configuration.lanes {
      let (provider, context) = try entry.parts(of: "revocation-worker", configuration.tables, clock)
      ways.append(try provider.makeLane(context))
      for client in provider.clients { clients[client] = entry.lane.name }
    }
    lanes = configuration.lanes.map(\.lane)
    self.ways = ways
    handler = RevocationJobHandler(lanes: ways, clients: clients, keys: keys, persistence: configuration.persistence)
  }

  /// Ends the connections to the providers. Calls in progress fail.
  public func shutdown() async {
    for way in ways { await way.shutdown() }
  }
}
