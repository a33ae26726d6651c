import CountersignAMQP
import CountersignTelemetry
import SQLite
import ServiceRuntime
import Synchronization

/// Sees to it that one coordinator works at a time, on a database and on the queues of a broker. A second one waits, is not ready, and
/// takes over when the first has ended, in order or not. This is the one place that would have to change for several at once.
///
/// - The database: a lock of the operating system on a file beside it, which ends with the process.
/// - The queues: the connection that consumes the commands is the only consumer of the lock queue (`Topology.Queues.commandsLock`), or does not
///   consume. Results are taken only while it does: one that belongs to another coordinator's verification would be lost here.
final class Turn: Sendable {
  /// Pause between attempts to take the database.
  static let interval = Duration.seconds(1)
  /// The longest interval of heartbeats of the connection that has the lock. A connection that is cut without a word keeps it until
  /// the broker has missed two of them, and this process waits for itself.
  static let heartbeat = Duration.seconds(5)
  /// The log tells again that it waits.
  static let reminder = 30

  private let isWaiting = Mutex(false)
  private let changes: AsyncStream<Bool>
  private let continuation: AsyncStream<Bool>.Continuation

  init() {
    // Only the latest counts.
    (changes, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  // MARK: Database

  /// Waits until no other coordinator has the database.
  /// - Parameter sleep: waits between two looks; a parameter for tests.
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
        log.warning("another coordinator has the database; waiting until it ends", ["path": path, .mend: Self.mend])
      }
      looks += 1
      try await sleep(Self.interval)
    }
  }

  /// Whether the database is another coordinator's.
  var health: HealthState {
    isWaiting.withLock { $0 } ? .failing("another coordinator has the database", mend: Self.mend) : .ok
  }

  private static let mend =
    "one coordinator runs at a time: end the other, or name a database of its own in database.path for another broker"

  // MARK: Queues

  /// Takes note of what happens to the connection that consumes the commands.
  func note(_ event: ConnectionEvent) {
    switch event {
    case .connected: continuation.yield(true)
    case .disconnected: continuation.yield(false)
    default: break
    }
  }

  /// Calls back whenever the commands begin or cease to be consumed, until ``end()``.
  func follow(_ body: (Bool) async -> Void) async {
    for await isHeld in changes { await body(isHeld) }
  }

  func end() { continuation.finish() }
}

/// Has the results consumed only while the commands are.
struct TurnService: Service {
  let name = "turn"
  let turn: Turn
  let results: Consumer

  func run() async {
    await turn.follow { isHeld in
      await isHeld ? results.resume() : results.pause()
    }
  }

  func stop() async { turn.end() }
}
