import Synchronization

/// A clock that stands still until it is moved. For tests.
public final class ManualClock: WallClock {
  private let time: Mutex<UnixTime>

  /// - Parameter start: the time it shows first; 2026-07-01T12:00:00Z if not given.
  public init(_ start: UnixTime = UnixTime(seconds: 1_782_907_200)) {
    time = Mutex(start)
  }

  public func now() -> UnixTime {
    time.withLock { $0 }
  }

  /// Moves the clock on.
  public func advance(by duration: Duration) {
    time.withLock { $0 += duration }
  }

  /// Sets the clock, back or forth.
  public func set(to newTime: UnixTime) {
    time.withLock { $0 = newTime }
  }
}
