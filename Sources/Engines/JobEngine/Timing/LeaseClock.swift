import CountersignTelemetry
import Synchronization

/// The time by which leases of the ledger are judged: the wall clock, except for a recent step forward.
///
/// A step forward would expire all leases at once, and a redelivered copy would be sent a second time. It is therefore
/// ignored while an earlier lease may run. On a step back, `SQLiteLedger` shortens the leases written before it.
final class LeaseClock: Sendable {
  static let tolerance = StepFilter.tolerance

  private let clocks: Clocks
  private let filter: Mutex<StepFilter>

  init(_ clocks: Clocks, longestLease: Duration) {
    self.clocks = clocks
    var filter = StepFilter(longestLease: longestLease)
    _ = filter.time(clocks.wall.now(), at: clocks.monotonic.now())
    self.filter = Mutex(filter)
  }

  func now() -> UnixTime {
    // Read under the lock, so that no reading is older than the previous one.
    filter.withLock { $0.time(clocks.wall.now(), at: clocks.monotonic.now()) }
  }
}
