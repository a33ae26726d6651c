/// The two clocks that a process goes by.
///
/// The wall clock may be set, by a person or by NTP, and jump either way. Whatever would break then is asked of the other.
public struct Clocks: Sendable {
  /// The time of day: for deadlines, leases, and what is written down or sent.
  public let wall: any WallClock
  /// Time that passes between two moments: for time-outs, timers, pauses, back-offs and rates.
  public let monotonic: any MonotonicClock

  /// - Parameters:
  ///   - wall: The time of day.
  ///   - monotonic: What passes.
  public init(wall: any WallClock, monotonic: any MonotonicClock) {
    self.wall = wall
    self.monotonic = monotonic
  }

  /// Those of the system.
  public static let system = Clocks(wall: SystemClock(), monotonic: SystemMonotonicClock())
}
