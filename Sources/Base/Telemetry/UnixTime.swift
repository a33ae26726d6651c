/// A moment in time: whole milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
///
/// Every module's time is a `UnixTime`: it is eight bytes, compares as a number, is stored in the database as an
/// integer and crosses the broker as RFC 3339 text. Time is passed in as a parameter or read from a ``WallClock``.
public struct UnixTime: Sendable, Hashable {
  /// Milliseconds since 1970, negative before it.
  public var milliseconds: Int64

  public init(milliseconds: Int64) {
    self.milliseconds = milliseconds
  }

  /// - Parameter seconds: seconds since 1970. What AMQP timestamps count in. The nearest time when it is out of range.
  public init(seconds: Int64) {
    let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
    self.milliseconds = overflow ? (seconds < 0 ? .min : .max) : milliseconds
  }

  /// Whole seconds since 1970, rounded down.
  public var seconds: Int64 {
    let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
    return rest < 0 ? seconds - 1 : seconds
  }

  /// Seconds since 1970 with their fraction.
  public var fractionalSeconds: Double {
    Double(milliseconds) / 1000
  }

  /// The later time that lies `duration` after `time`. Sub-millisecond parts are dropped.
  public static func + (time: UnixTime, duration: Duration) -> UnixTime {
    let (sum, overflow) = time.milliseconds.addingReportingOverflow(duration.wholeMilliseconds)
    return UnixTime(milliseconds: overflow ? .max : sum)
  }

  /// The earlier time that lies `duration` before `time`. Sub-millisecond parts are dropped.
  public static func - (time: UnixTime, duration: Duration) -> UnixTime {
    let (difference, overflow) = time.milliseconds.subtractingReportingOverflow(duration.wholeMilliseconds)
    return UnixTime(milliseconds: overflow ? .min : difference)
  }

  /// Time from `start` to `end`. Negative if `end` is earlier.
  public static func - (end: UnixTime, start: UnixTime) -> Duration {
    let (difference, overflow) = end.milliseconds.subtractingReportingOverflow(start.milliseconds)
    return .milliseconds(overflow ? (end > start ? .max : .min) : difference)
  }

  /// Moves the time by a duration.
  public static func += (time: inout UnixTime, duration: Duration) {
    time = time + duration
  }
}

extension UnixTime: Comparable {
  public static func < (left: UnixTime, right: UnixTime) -> Bool {
    left.milliseconds < right.milliseconds
  }
}

extension Duration {
  /// The duration in milliseconds, rounded towards zero. The nearest representable number when it is out of range.
  public var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
    guard !overflow else { return seconds > 0 ? .max : .min }
    let (sum, tooLarge) = milliseconds.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
    return tooLarge ? (seconds > 0 ? .max : .min) : sum
  }

  /// The duration in seconds with its fraction.
  public var fractionalSeconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }
}
