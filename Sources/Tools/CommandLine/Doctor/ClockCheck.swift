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
  static func finding(date: String?, now: UnixTime, server: String) -> Finding {
    guard let date, let there = HTTPDate.seconds(date).map(UnixTime.init(seconds:)) else {
      return Finding("clock", .skipped, "\(server) did not send the time")
    }
    let seconds = (now.milliseconds - there.milliseconds) / 1000
    let difference = Duration.seconds(abs(seconds))
    if difference <= tolerance { return Finding("clock", .ok, "agrees with that of \(server)") }
    return Finding(
      "clock", difference > limit ? .failed : .warning,
      "is \(abs(seconds)) s \(seconds > 0 ? "ahead of" : "behind") that of \(server)",
      hint: "synchronize the clocks of all machines: timedatectl set-ntp true")
  }
}
