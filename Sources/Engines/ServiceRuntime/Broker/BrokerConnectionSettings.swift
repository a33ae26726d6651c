public import CountersignAMQP
import CountersignTelemetry
import Synchronization

/// Shared settings of a process's connections: endpoint, options, a name on the broker, log, metrics and health.
///
/// ```swift
/// let broker = BrokerConnectionSettings(configuration.common.broker, context)
/// let publisher = Publisher(
///   endpoint: broker.endpoint, options: broker.options("publisher"), onEvent: broker.observer("publisher"))
/// broker.watch("publisher") { publisher.status }
/// ```
public struct BrokerConnectionSettings: Sendable {
  /// Hosts of the broker, and our identity to it.
  public let endpoint: BrokerEndpoint
  private let heartbeat: Duration
  private let currentPassword: (@Sendable () -> Secret?)?
  private let context: ServiceContext

  public init(_ configuration: BrokerConfiguration, _ context: ServiceContext) {
    endpoint = configuration.endpoint
    heartbeat = configuration.heartbeat
    currentPassword = configuration.currentPassword
    self.context = context
  }

  /// The options of one connection.
  /// - Parameters:
  ///   - role: purpose of the connection: `publisher`, `consumer`. Part of its name on the broker.
  ///   - maxBodyBytes: the longest body that is sent or kept.
  public func options(_ role: String, maxBodyBytes: Int = 4 << 20) -> ConnectionOptions {
    var options = ConnectionOptions(
      name: "\(context.instance) \(role)", heartbeat: heartbeat, maxBodyBytes: maxBodyBytes)
    if let currentPassword { options.password = { currentPassword()?.reveal() } }
    return options
  }

  /// Interval at which a persisting error is logged again. The attempts in between are counted, and logged as debug.
  public static let repeatedErrorInterval = Duration.seconds(30)

  /// An observer that logs and counts the events of one connection.
  public func observer(_ role: String) -> @Sendable (ConnectionEvent) -> Void {
    let logger = context.logger.with(["connection": role])
    let connected = context.metrics.gauge(
      "countersign_broker_connected", "Whether a connection to the broker is up.", labels: ["connection"]
    ).with(role)
    let failures = context.metrics.counter(
      "countersign_broker_disconnects_total", "Connections to the broker that failed or were lost, by its host.",
      labels: ["connection", "host", "code"])
    let inUse = context.metrics.gauge(
      "countersign_broker_host_in_use", "Whether a connection is at this host of the broker.",
      labels: ["connection", "host"])
    let givenUp = context.metrics.counter(
      "countersign_broker_publications_given_up_total",
      "Publications that made the broker close the connection each time they were sent.", labels: ["connection"]
    ).with(role)
    let renewed = context.metrics.counter(
      "countersign_broker_channels_renewed_total",
      "Channels that were replaced because the broker refused a publication.", labels: ["connection"]
    ).with(role)
    let certificates = CertificateMetric.gauge(in: context.metrics)
    let repeats = RepeatFilter(interval: Self.repeatedErrorInterval, clock: context.clocks.monotonic)
    let current = Mutex<BrokerHost?>(nil)
    return { event in
      let host = current.withLock { current in
        if let host = event.host { current = host }
        return current
      }
      switch event {
      case .connected(let host):
        connected.set(1)
        inUse.with(role, host.description).set(1)
      case .certificates(let ends, let host):
        for (certificate, end) in ends {
          certificates.with(certificate == .broker ? "broker" : "broker client", host.description).set(Double(end))
        }
      case .disconnected(let error, let host, _):
        connected.set(0)
        inUse.with(role, host.description).set(0)
        failures.with(role, host.description, error.code.description).increment()
      case .stopped:
        connected.set(0)
        if let host { inUse.with(role, host.description).set(0) }
      case .publicationGivenUp: givenUp.increment()
      case .channelRenewed: renewed.increment()
      default: break
      }
      // The one host, while there is one: "connected to the broker" is of no use without it.
      let broker = host.map { endpoint.at($0) } ?? endpoint
      BrokerEventLog.write(
        event, isRepeated: repeats.isRepeated(event), to: logger.with(["broker": broker.description]))
    }
  }

  /// Makes the process ready only while the connection is up.
  /// - Parameters:
  ///   - role: purpose of the connection; the check is called `broker.<role>`.
  ///   - status: its current status.
  public func watch(_ role: String, _ status: @escaping @Sendable () -> ConnectionStatus) {
    context.health.register(
      "broker.\(role)", detail: { [endpoint] in Self.place(status(), endpoint) }, check: { Self.health(status()) })
  }

  /// Host that a connection is at, with the user and without the password. `nil` while there is none.
  private static func place(_ status: ConnectionStatus, _ endpoint: BrokerEndpoint) -> String? {
    switch status.phase {
    case .connected, .paused, .blocked: status.host.map { endpoint.at($0).description }
    case .connecting, .stopped: nil
    }
  }

  /// Health of a connection. A connection that was paused on purpose is healthy.
  public static func health(_ status: ConnectionStatus) -> HealthState {
    switch status.phase {
    case .connected, .paused: .ok
    case .connecting, .blocked, .stopped:
      .failing(status.description, hint: status.lastError.flatMap { BrokerEventLog.advice($0).hint })
    }
  }
}

extension ConnectionEvent {
  fileprivate var host: BrokerHost? {
    switch self {
    case .connected(let host), .disconnected(_, let host, _): host
    default: nil
    }
  }
}

/// Distinguishes recently logged errors from new ones, for each host of the broker.
private final class RepeatFilter: Sendable {
  private let interval: Duration
  private let clock: any MonotonicClock
  private let last = Mutex<[BrokerHost: (code: AMQPError.Code, at: MonotonicTime)]>([:])

  init(interval: Duration, clock: any MonotonicClock) {
    self.interval = interval
    self.clock = clock
  }

  func isRepeated(_ event: ConnectionEvent) -> Bool {
    guard case .disconnected(let error, let host, _) = event else {
      if case .connected = event { last.withLock { $0 = [:] } }
      return false
    }
    let now = clock.now()
    return last.withLock { last in
      if let known = last[host], known.code == error.code, now - known.at < interval { return true }
      last[host] = (error.code, now)
      return false
    }
  }
}
