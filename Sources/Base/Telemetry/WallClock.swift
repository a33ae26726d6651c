/// Tells the time of day, which may be set: it jumps forth and back. For deadlines, leases, and what is written down or sent;
/// what waits or measures takes a ``MonotonicClock``.
///
/// Code that needs the time takes one, so that tests can set it.
public protocol WallClock: Sendable {
  /// The time now.
  func now() -> UnixTime
}
