/// Tells the time of day. Code that needs the time takes one, so that tests can set it.
public protocol WallClock: Sendable {
  /// The time now.
  func now() -> UnixTime
}
