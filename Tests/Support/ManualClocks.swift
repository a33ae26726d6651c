public import CountersignTelemetry
import Synchronization

/// A monotonic clock that stands still until it is moved on.
public final class ManualMonotonicClock: MonotonicClock {
  private let time: Mutex<MonotonicTime>

  /// - Parameter start: the moment it shows first. An hour after the clock's start if not given.
  public init(_ start: MonotonicTime = MonotonicTime(nanoseconds: 3_600_000_000_000)) {
    time = Mutex(start)
  }

  public func now() -> MonotonicTime {
    time.withLock { $0 }
  }

  /// Moves the clock on.
  public func advance(by duration: Duration) {
    precondition(duration >= .zero, "A monotonic clock never goes back.")
    time.withLock { $0 += duration }
  }
}

/// Both clocks in one hand.
public final class ManualClocks: Sendable {
  /// The time of day.
  public let wall: ManualClock
  /// Time that passes.
  public let monotonic = ManualMonotonicClock()

  /// - Parameter start: the time of day it shows first. 2026-07-01T12:00:00Z if not given.
  public init(_ start: UnixTime = UnixTime(seconds: 1_782_907_200)) {
    wall = ManualClock(start)
  }

  /// Both, as code takes them.
  public var clocks: Clocks { Clocks(wall: wall, monotonic: monotonic) }

  /// Lets time pass: moves both.
  public func advance(by duration: Duration) {
    wall.advance(by: duration)
    monotonic.advance(by: duration)
  }

  /// Sets the time of day forth or back, while no time passes.
  public func stepWall(by duration: Duration) {
    wall.advance(by: duration)
  }
}

/// A clock that stands still until it is moved.
public final class ManualClock: WallClock {
  private let time: Mutex<UnixTime>

  /// - Parameter start: the time it shows first. 2026-07-01T12:00:00Z if not given.
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
