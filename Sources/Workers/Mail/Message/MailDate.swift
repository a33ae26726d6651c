import CountersignTelemetry

/// A time as a header field has it: `Sat, 21 Nov 2026 15:27:56 +0000` (RFC 5322, 3.3).
enum MailDate {
  private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  static func text(_ time: UnixTime) -> String {
    // 2026-11-21T15:27:56Z
    let parts = UnixTime(seconds: time.seconds).rfc3339.split { "-T:.Z".contains($0) }
    let days = Int(time.seconds / 86_400)
    guard parts.count >= 6, let month = Int(parts[1]), (1...12).contains(month), days >= 0 else { return "" }
    return
      "\(Self.days[days % 7]), \(parts[2]) \(months[month - 1]) \(parts[0]) \(parts[3]):\(parts[4]):\(parts[5]) +0000"
  }
}
