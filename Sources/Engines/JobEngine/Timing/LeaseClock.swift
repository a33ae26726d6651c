import CountersignTelemetry
import Synchronization

/// The time by which leases of the ledger are judged: the wall clock, but for a step forth that has just come.
///
/// A lease is written down as a time of day, since other processes read it. When the clock is then set forth, the leases of all calls
/// under way seem to be over at once, and a copy of such a job, delivered again, would be sent a second time beside the first. So
/// for as long as a lease may run that was written before, a step forth is left out. Every process of the host sees the step
/// by itself, in the moment in which it judges. Leases are written by the wall clock, so those written after the step only seem to
/// last longer until then.
///
/// A step back is followed at once; `SQLiteLedger` bounds what is left of the leases written before it.
final class LeaseClock: Sendable {
  /// A smaller difference is how a clock that is slewed, or read a moment later, differs. Leases have a margin of many times that.
  static let tolerance: Duration = .seconds(1)

  private struct State {
    /// When both clocks were last taken to agree.
    var wall: UnixTime
    var monotonic: MonotonicTime
    /// The step that is left out, and when it was seen.
    var step: (size: Duration, seenAt: MonotonicTime)?
  }

  private let clocks: Clocks
  private let longestLease: Duration
  private let state: Mutex<State>

  /// - Parameter longestLease: No lease runs for longer.
  init(_ clocks: Clocks, longestLease: Duration) {
    self.clocks = clocks
    self.longestLease = longestLease
    state = Mutex(State(wall: clocks.wall.now(), monotonic: clocks.monotonic.now()))
  }

  /// The time by which a lease is over or not.
  func now() -> UnixTime {
    state.withLock { state in
      // Read under the lock, so that no reading is older than the one before.
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
