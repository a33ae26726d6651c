/// Tells how time passes, whatever the time of day is set to: for time-outs, timers, pauses, back-offs and rates.
///
/// Code that needs it takes one, so that tests can move it.
public protocol MonotonicClock: Sendable {
  /// The moment now.
  func now() -> MonotonicTime
}
