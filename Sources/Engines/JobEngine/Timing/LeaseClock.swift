import CountersignTelemetry
import Synchronization

/// The time by which leases of the ledger are judged: the wall clock, except for a recent step forward.
///
/// A lease is written as a time of day, since other processes read it. When the clock is then set forward, the leases
/// of all calls in progress seem to have expired at once, and a redelivered copy of such a job would be sent a second
/// time in parallel. So a step forward is ignored for as long as an earlier lease may run. Every process of the host
/// detects the step by itself, at the moment it judges a lease. Leases are written by the wall clock, so those written
/// after the step only seem to last longer until then.
///
/// A step back is followed at once; `SQLiteLedger` shortens the leases written before it.
final class LeaseClock: Sendable {
  /// Maximum difference of a clock that is slewed, or read a moment later.
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
