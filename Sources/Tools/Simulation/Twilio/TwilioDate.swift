import CountersignTelemetry
import Glibc

/// Dates as Twilio writes them (RFC 2822): `Wed, 01 Jul 2026 12:30:00 +0000`.
enum TwilioDate {
  private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  static func text(_ time: UnixTime) -> String {
    var seconds = time_t(time.seconds)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map(twoDigits).joined(separator: ":")
    let date = "\(twoDigits(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900)"
    return "\(days[Int(parts.tm_wday)]), \(date) \(clock) +0000"
  }

  private static func twoDigits(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
