public import SQLite
public import ServiceRuntime

/// Settings of a stateful service that its configuration decides, apart from those of its flows.
public struct ServiceSettings: Sendable {
  /// The service, as whose its database is marked.
  public var kind: DatabaseKind
  /// A process of the service, in texts for operators: `coordinator`.
  public var process: String
  /// The broker, and the service's user there.
  public var broker: BrokerConfiguration
  /// The database.
  public var database: DatabaseSettings
  /// Queue whose only consumer may take commands. See ``Turn``.
  public var lockQueue: String
  /// The results and replies in the names of connections and services: `results`.
  public var reports: String
  /// Deliveries taken from each queue ahead.
  public var prefetch = 512
  /// Exchange of which the queue of reports gets all messages, in their order: the broker has one process at a time take
  /// them, and waits for a frozen one. `nil` where the topology binds it, and any order will do.
  public var reportsSource: String?
  /// Interval between rounds of the maintenance.
  public var maintenanceInterval = Duration.seconds(1)

  func commandPrefetch(isShared: Bool) -> Int { isShared ? min(prefetch, Turn.sharedPrefetch) : prefetch }
  func stagePrefetch(isShared: Bool) -> Int { isShared ? min(prefetch, Turn.sharedStagePrefetch) : prefetch }

  public init(
    of process: String, _ kind: DatabaseKind, broker: BrokerConfiguration, database: DatabaseSettings,
    lockQueue: String,
    reports: String = "results"
  ) {
    self.process = process
    self.kind = kind
    self.broker = broker
    self.database = database
    self.lockQueue = lockQueue
    self.reports = reports
  }
}
