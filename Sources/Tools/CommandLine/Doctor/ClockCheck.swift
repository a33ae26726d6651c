import CountersignEncoding
import CountersignTelemetry
import HTTPClient

/// Compares the local clock with a server's: processes of several machines share deadlines and expiries.
enum ClockCheck {
  /// Harmless difference; the header has whole seconds, and the answer took a while.
  static let tolerance = Duration.seconds(2)
  /// Difference that makes codes expire visibly too early or too late.
  static let limit = Duration.seconds(15)

  /// - Parameters:
  ///   - date: header `date` of an answer just received.
  ///   - now: local time.
  ///   - server: name of the server.
  ///   - check: name of the check.
  static func finding(date: String?, now: UnixTime, server: String, check: String = "clock") -> Finding {
    guard let date, let there = HTTPDate.seconds(date).map(UnixTime.init(seconds:)) else {
      return Finding(check, .skipped, "\(server) did not send the time")
    }
    let seconds = (now.milliseconds - there.milliseconds) / 1000
    let difference = Duration.seconds(abs(seconds))
    if difference <= tolerance { return Finding(check, .ok, "agrees with that of \(server)") }
    return Finding(
      check, difference > limit ? .failed : .warning,
      "is \(abs(seconds)) s \(seconds > 0 ? "ahead of" : "behind") that of \(server)",
      hint: "synchronize the clocks of all machines: timedatectl set-ntp true")
  }
}
