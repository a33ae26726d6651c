import CCurl

/// Dates in header fields of HTTP (RFC 9110, section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT` and the two obsolete forms.
public enum HTTPDate {
  /// Longer texts are not dates.
  private static let maxLength = 64

  /// - Returns: seconds since 1970; `nil` when the text is not a date.
  public static func seconds(_ text: String) -> Int64? {
    // All three forms begin with the day of the week. libcurl also reads numbers alone as a date or a time of day.
    guard let first = text.unicodeScalars.first, ("A"..."Z").contains(first), text.utf8.count <= maxLength else {
      return nil
    }
    let time = curl_getdate(text, nil)
    return time == -1 ? nil : Int64(time)
  }
}
