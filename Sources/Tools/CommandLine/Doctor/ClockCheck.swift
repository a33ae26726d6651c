import CountersignTelemetry
import HTTPClient

/// Compares the clock with that of a server. Deadlines and expiries are compared across machines.
enum ClockCheck {
  /// A difference that nothing is hurt by; the header has whole seconds, and the answer took a while.
  static let tolerance = Duration.seconds(2)
  /// A difference by which codes expire visibly too early or too late.
  static let limit = Duration.seconds(15)

  /// - Parameters:
  ///   - date: the header `date` of an answer that has just come.
  ///   - now: the time here.
  ///   - server: whose clock it is compared with.
  static func finding(date: String?, now: UnixTime, server: String) -> Finding {
    guard let date, let there = HTTPDate.seconds(date).map(UnixTime.init(seconds:)) else {
      return Finding("clock", .skipped, "\(server) did not say what time it is")
    }
    let seconds = (now.milliseconds - there.milliseconds) / 1000
    let difference = Duration.seconds(abs(seconds))
    if difference <= tolerance { return Finding("clock", .ok, "agrees with that of \(server)") }
    return Finding(
      "clock", difference > limit ? .failed : .warning,
      "is \(abs(seconds)) s \(seconds > 0 ? "ahead of" : "behind") that of \(server)",
      mend: "synchronise the clocks of all machines: timedatectl set-ntp true")
  }
}
