public import CountersignTelemetry
import HTTPClient

/// The header `Retry-After` (RFC 9110, section 10.2.3): seconds, or a date.
public enum RetryAfter {
  /// Longer waits are cut to this one: no job of this worker waits longer.
  public static let limit = Duration.seconds(24 * 3600)

  /// - Returns: the wait from `now`, zero for a date that has passed. `nil` for a value that is neither.
  public static func parse(_ value: String, now: UnixTime) -> Duration? {
    let value = value.trimmingSpaces()
    guard !value.isEmpty else { return nil }
    if value.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
      return Int64(value).map { min(.seconds($0), limit) } ?? limit
    }
    return HTTPDate.seconds(value).map { min(max(UnixTime(seconds: $0) - now, .zero), limit) }
  }
}

extension String {
  fileprivate func trimmingSpaces() -> String {
    let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    return String(drop(while: isSpace).reversed().drop(while: isSpace).reversed())
  }
}
