import CurlTransport
public import JOSE
public import Telemetry
public import WorkerRuntime

/// Everything that an `sms-worker` brings to the engine, made from its configuration.
public struct SMSDispatcher: Sendable {
  /// What carries out the jobs.
  public let handler: SMSJobHandler
  /// The lanes in the order in which they are tried.
  public let lanes: [LaneConfiguration]
  private let transports: [CurlTransport]

  /// - Parameters:
  ///   - configuration: The configuration, checked.
  ///   - keys: Opens sealed codes; without it a sealed code is a dead letter.
  ///   - clock: For dates in `Retry-After`.
  /// - Throws: when certificates cannot be used; the message names the lane.
  public init(
    _ configuration: SMSWorkerConfiguration, keys: KeyRing?, clock: any WallClock = SystemClock()
  ) throws(SMSDispatchError) {
    guard let templates = configuration.templates.templates else {
      throw SMSDispatchError(.invalidConfiguration, "templates.directory: the templates have problems")
    }
    let factory = LaneFactory(tables: configuration.tables, clock: clock)
    var routes: [LaneRoute] = []
    var transports: [CurlTransport] = []
    for settings in configuration.lanes {
      let (route, http) = try factory.make(settings)
      routes.append(route)
      transports.append(http)
    }
    let ring = if let keys { keys } else { try Self.noKeys() }
    lanes = configuration.lanes.map(\.lane)
    self.transports = transports
    handler = SMSJobHandler(
      routes: routes, templates: templates, keys: ring, limits: configuration.limits,
      appName: configuration.templates.appName)
  }

  private static func noKeys() throws(SMSDispatchError) -> KeyRing {
    do {
      return try KeyRing(sealing: nil)
    } catch {
      throw SMSDispatchError(.invalidConfiguration, "no key ring can be made: \(error)")
    }
  }

  /// Ends the connections to the providers; calls under way fail.
  public func shutdown() async {
    for transport in transports { await transport.shutdown() }
  }
}
