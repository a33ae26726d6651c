internal import CountersignTelemetry

/// The date of an HTTP answer: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7; the obsolete forms are not read).
enum HTTPDate {
  static func parse(_ text: String) -> UnixTime? {
    let parts = text.split(separator: " ")
    guard parts.count == 6, parts[5] == "GMT", let month = months.firstIndex(of: parts[2]), parts[1].count == 2
    else { return nil }
    let number = month + 1
    return UnixTime(rfc3339: "\(parts[3])-\(number < 10 ? "0" : "")\(number)-\(parts[1])T\(parts[4])Z")
  }

  private static let months: [Substring] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
}
