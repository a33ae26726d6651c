/// A moment of the clock that is never set: nanoseconds since a start that means nothing outside the process.
///
/// A type of its own, so that a time-out cannot be compared with a deadline by accident. A time that is stored, sent,
/// or agreed with another process is a ``UnixTime``.
public struct MonotonicTime: Sendable, Hashable {
  /// Nanoseconds since the clock's start.
  public var nanoseconds: Int64

  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// The later moment that lies `duration` after `time`. The latest one when there is none so late.
  public static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
    let (sum, overflow) = time.nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
    return MonotonicTime(nanoseconds: overflow ? (duration < .zero ? .min : .max) : sum)
  }

  /// The earlier moment that lies `duration` before `time`. The earliest one when there is none so early.
  public static func - (time: MonotonicTime, duration: Duration) -> MonotonicTime {
    let (difference, overflow) = time.nanoseconds.subtractingReportingOverflow(duration.wholeNanoseconds)
    return MonotonicTime(nanoseconds: overflow ? (duration < .zero ? .max : .min) : difference)
  }

  /// Time by which `end` is later than `start`. Negative when it is earlier.
  public static func - (end: MonotonicTime, start: MonotonicTime) -> Duration {
    let (difference, overflow) = end.nanoseconds.subtractingReportingOverflow(start.nanoseconds)
    return .nanoseconds(overflow ? (end > start ? .max : .min) : difference)
  }

  /// Moves the moment by a duration.
  public static func += (time: inout MonotonicTime, duration: Duration) {
    time = time + duration
  }
}

extension MonotonicTime: Comparable {
  public static func < (left: MonotonicTime, right: MonotonicTime) -> Bool {
    left.nanoseconds < right.nanoseconds
  }
}

extension Duration {
  /// The duration in nanoseconds, rounded towards zero. The nearest representable number when it is out of range.
  public var wholeNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (nanoseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    guard !overflow else { return seconds > 0 ? .max : .min }
    let (sum, tooLarge) = nanoseconds.addingReportingOverflow(attoseconds / 1_000_000_000)
    return tooLarge ? (seconds > 0 ? .max : .min) : sum
  }
}
