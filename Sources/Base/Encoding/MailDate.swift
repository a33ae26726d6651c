/// Dates as mails have them (RFC 5322, section 3.3): `Sat, 21 Nov 2026 15:27:56 +0000`.
public enum MailDate {
  /// The date in UTC.
  /// - Parameter seconds: seconds since 1970.
  public static func text(_ seconds: Int64) -> String {
    let day = Int(seconds >= 0 ? seconds / secondsOfDay : (seconds - secondsOfDay + 1) / secondsOfDay)
    let time = Int(seconds) - day * Int(secondsOfDay)
    let date = CalendarDate(daysSince1970: day)
    let clock = [time / 3600, time / 60 % 60, time % 60].map(twoDigits).joined(separator: ":")
    // 1970-01-01 was a Thursday.
    let weekday = weekdays[((day + 4) % 7 + 7) % 7]
    return "\(weekday), \(twoDigits(date.day)) \(months[date.month - 1]) \(date.year) \(clock) +0000"
  }

  private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  private static let secondsOfDay: Int64 = 86_400
  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
}
