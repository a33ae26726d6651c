public import CountersignTelemetry

/// Components shared by the services of a process.
public struct ServiceContext: Sendable {
  /// The process's log.
  public let logger: Logger
  /// The process's metrics.
  public let metrics: MetricsRegistry
  /// The checks that decide whether the process is ready.
  public let health: HealthRegistry
  /// Facts about the process for the doctor.
  public let runtime = RuntimeRegistry()
  /// The time of day, and monotonic time.
  public let clocks: Clocks
  /// The name of the executable and of this instance of it: `sms-worker@host/4711`. The connection's name on the
  /// broker.
  public let instance: String
  /// The name of the executable. The `app_id` of its messages.
  public let name: String
  /// The file that the configuration was read from, if any.
  public let configurationFile: String?

  public init(
    name: String, instance: String, logger: Logger, metrics: MetricsRegistry = MetricsRegistry(),
    health: HealthRegistry = HealthRegistry(), clocks: Clocks = .system, configurationFile: String? = nil
  ) {
    self.name = name
    self.configurationFile = configurationFile
    self.instance = instance
    self.logger = logger
    self.metrics = metrics
    self.health = health
    self.clocks = clocks
  }

  /// The time of day.
  public var clock: any WallClock { clocks.wall }
}
