import CountersignTelemetry
import SQLite
public import ServiceRuntime
import Synchronization

/// Ensures that one process of a service works on an SQLite database and its queues. A second one waits until the first
/// ends.
///
/// The database has a lock of the operating system, the queues an exclusive consumer of the lock queue
/// (`Topology.Queues.commandsLock`). Processes on PostgreSQL share that queue, so that none works beside one on SQLite.
public final class Turn: Sendable {
  static let interval = Duration.seconds(1)
  /// The longest interval of heartbeats of the connection that holds the lock. A connection that is cut silently keeps
  /// the lock until the broker has missed two of them, and this process waits for itself.
  public static let heartbeat = Duration.seconds(5)
  /// The same of a process that is not alone: a frozen one keeps what was delivered to it until the broker has missed
  /// two.
  public static let sharedHeartbeat = Duration.seconds(2)
  /// Commands that such a process takes ahead, at most: so many wait for it when it is frozen.
  public static let sharedPrefetch = 512
  /// Prefetch of which its stages may take a part: the last of those that wait for a slow provider is answered while its
  /// requester still waits.
  static let sharedStagePrefetch = 256
  static let reminder = 30

  private let process: String
  private let isWaiting = Mutex(false)

  public init(of process: String) {
    self.process = process
  }

  func claim(
    _ path: String, log: Logger, sleep: (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) async throws -> FileOwner {
    var looks = 0
    while true {
      if let owner = try FileOwner.claim(path) {
        isWaiting.withLock { $0 = false }
        return owner
      }
      isWaiting.withLock { $0 = true }
      if looks.isMultiple(of: Self.reminder) {
        log.warning("another process has the database; waiting until it ends", ["path": path, .hint: hint])
      }
      looks += 1
      try await sleep(Self.interval)
    }
  }

  /// Failing while another process has the database.
  public var health: HealthState {
    isWaiting.withLock { $0 } ? .failing("another \(process) has the database", hint: hint) : .ok
  }

  private var hint: String {
    "one \(process) runs at a time: end the other, or name a database of its own in database.path for another broker"
  }
}
