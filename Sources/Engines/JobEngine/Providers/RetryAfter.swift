public import CountersignTelemetry

/// The header `Retry-After`: seconds, or a date in one of the three forms of HTTP (RFC 9110, 10.2.3 and 5.6.7).
public enum RetryAfter {
  /// Maximum wait; a longer one is cut.
  public static let maximum = Duration.seconds(24 * 3600)
  /// Maximum length of a value.
  private static let maxLength = 64

  /// The wait from `now`; zero for a date in the past, `nil` for an invalid value.
  public static func parse(_ value: String, now: UnixTime) -> Duration? {
    let value = value.trimmingSpaces()
    guard !value.isEmpty, value.utf8.count <= maxLength else { return nil }
    if value.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
      return Int64(value).map { min(.seconds($0), maximum) } ?? maximum
    }
    return date(value, now).map { min(max($0 - now, .zero), maximum) }
  }

  private static func date(_ text: String, _ now: UnixTime) -> UnixTime? {
    let words = text.split(whereSeparator: { $0 == " " || $0 == "," }).map(String.init)
    switch words.count {
    // IMF-fixdate: Sun, 06 Nov 1994 08:49:37 GMT
    case 6 where words[5] == "GMT": return time(words[3], words[2], words[1], words[4])
    // RFC 850: Sunday, 06-Nov-94 08:49:37 GMT
    case 4 where words[3] == "GMT":
      let date = words[1].split(separator: "-").map(String.init)
      guard date.count == 3, let year = fullYear(date[2], now) else { return nil }
      return time(year, date[1], date[0], words[2])
    // asctime: Sun Nov  6 08:49:37 1994
    case 5: return time(words[4], words[1], words[2], words[3])
    default: return nil
    }
  }

  private static func time(_ year: String, _ month: String, _ day: String, _ clock: String) -> UnixTime? {
    guard let index = months.firstIndex(of: month) else { return nil }
    return UnixTime(rfc3339: "\(year)-\(twoDigits(index + 1))-\(day.utf8.count == 1 ? "0" + day : day)T\(clock)Z")
  }

  /// Year of two digits: the one at most 50 years ahead (RFC 9110, 5.6.7).
  private static func fullYear(_ text: String, _ now: UnixTime) -> String? {
    guard text.utf8.count == 2, let short = Int(text), let current = Int(now.rfc3339.prefix(4)) else { return nil }
    let year = current / 100 * 100 + short
    return String(year > current + 50 ? year - 100 : year)
  }

  private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
}

extension String {
  fileprivate func trimmingSpaces() -> String {
    let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    return String(drop(while: isSpace).reversed().drop(while: isSpace).reversed())
  }
}
