import FoundationEssentials

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The two clocks that a process goes by.
///
/// The wall clock may be set, by a person or by NTP, and jump either way. Whatever would break then is asked of the
/// other.
public struct Clocks: Sendable {
  /// The time of day: for deadlines, leases, and stored or sent times.
  public let wall: any WallClock
  /// Time that passes between two moments: for time-outs, timers, pauses, back-offs and rates.
  public let monotonic: any MonotonicClock

  public init(wall: any WallClock, monotonic: any MonotonicClock) {
    self.wall = wall
    self.monotonic = monotonic
  }

  /// Those of the system.
  public static let system = Clocks(wall: SystemClock(), monotonic: SystemMonotonicClock())
}

/// The time of day, which an administrator may set: it jumps forward and back. For deadlines, leases, and stored or
/// sent times; what waits or measures takes a ``MonotonicClock``.
///
/// Code that needs the time takes one, so that tests can set it.
public protocol WallClock: Sendable {
  /// The time now.
  func now() -> UnixTime
}

/// Tells how time passes, whatever the time of day is set to: for time-outs, timers, pauses, back-offs and rates.
///
/// Code that needs it takes one, so that tests can move it.
public protocol MonotonicClock: Sendable {
  /// The moment now.
  func now() -> MonotonicTime
}

/// The clock of the system.
public struct SystemClock: WallClock {
  public init() {}

  public func now() -> UnixTime {
    UnixTime(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
  }
}

/// The monotonic clock of the system: `CLOCK_MONOTONIC`.
///
/// It stands still while the machine is suspended, unlike Swift's `ContinuousClock`. Otherwise every call would time
/// out on waking up, before its answer in the socket was read. libcurl and Dispatch count by it too. Deadlines and
/// leases, which must end at a time of day, use the wall clock.
public struct SystemMonotonicClock: MonotonicClock {
  /// Creates it. All show the same time.
  public init() {}

  public func now() -> MonotonicTime {
    var time = timespec()
    // It fails for clocks that do not exist only, and this one always does.
    guard clock_gettime(CLOCK_MONOTONIC, &time) == 0 else { return MonotonicTime(nanoseconds: 0) }
    return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }
}
