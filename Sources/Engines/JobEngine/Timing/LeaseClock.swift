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
  /// Maximum difference of a clock that is slewed, or read a moment later. Leases have a margin of many times that.
  static let tolerance: Duration = .seconds(1)

  private struct State {
    /// Last time at which both clocks agreed.
    var wall: UnixTime
    var monotonic: MonotonicTime
    /// The ignored step, and the time of its detection.
    var step: (size: Duration, seenAt: MonotonicTime)?
  }

  private let clocks: Clocks
  private let longestLease: Duration
  private let state: Mutex<State>

  /// - Parameter longestLease: the maximum duration of a lease.
  init(_ clocks: Clocks, longestLease: Duration) {
    self.clocks = clocks
    self.longestLease = longestLease
    state = Mutex(State(wall: clocks.wall.now(), monotonic: clocks.monotonic.now()))
  }

  /// The time by which leases are judged.
  func now() -> UnixTime {
    state.withLock { state in
      // Read under the lock, so that no reading is older than the previous one.
      let (wall, monotonic) = (clocks.wall.now(), clocks.monotonic.now())
      let expected = state.wall + (monotonic - state.monotonic)
      let ahead = wall - expected
      if ahead > Self.tolerance {
        let isKnown = state.step.map { ahead - $0.size <= Self.tolerance } ?? false
        if !isKnown { state.step = (ahead, monotonic) }
        if let step = state.step, monotonic - step.seenAt < longestLease { return expected }
      }
      state = State(wall: wall, monotonic: monotonic)
      return wall
    }
  }
}
