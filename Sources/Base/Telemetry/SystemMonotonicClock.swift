#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The monotonic clock of the system: `CLOCK_MONOTONIC`.
///
/// It stands still while the machine is suspended; `CLOCK_BOOTTIME`, which is Swift's `ContinuousClock`, runs on. A call
/// whose process was asleep for ten minutes has not been waited for during them: with a clock that ran on, every call would
/// be over its time-out on waking up, before the answer that lies in the socket was read, and all would end as unknown.
/// libcurl and Dispatch count by `CLOCK_MONOTONIC` too, so a transport's own time-out stays ahead of the one that guards it.
/// Whatever must end at a time of day (deadlines, leases) goes by the wall clock, which does run on.
public struct SystemMonotonicClock: MonotonicClock {
  /// Creates it; all show the same time.
  public init() {}

  public func now() -> MonotonicTime {
    var time = timespec()
    // It fails for clocks that do not exist only, and this one always does.
    guard clock_gettime(CLOCK_MONOTONIC, &time) == 0 else { return MonotonicTime(nanoseconds: 0) }
    return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }
}
