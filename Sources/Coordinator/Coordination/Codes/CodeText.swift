/// Text that people type as a code.
public enum CodeText {
  /// The longest text that is considered.
  public static let maxLength = 64

  /// The digits of a code: spaces and hyphens are left out, and digits of any script become ASCII ones, since a phone
  /// set to Arabic or Bengali may offer those.
  ///
  /// - Returns: `nil` when the text contains anything else, or is empty.
  public static func digits(_ text: String) -> String? {
    guard !text.isEmpty, text.utf8.count <= maxLength else { return nil }
    var result = ""
    for scalar in text.unicodeScalars {
      if let digit = digit(scalar) {
        result.append(digit)
      } else if !isFiller(scalar) {
        return nil
      }
    }
    return result.isEmpty ? nil : result
  }

  private static func digit(_ scalar: Unicode.Scalar) -> String? {
    guard scalar.properties.numericType == .decimal, let value = scalar.properties.numericValue else { return nil }
    return String(Int(value))
  }

  private static func isFiller(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.isWhitespace || scalar == "-" || scalar == "\u{2010}" || scalar == "\u{2011}"
      // Marks of writing direction come along when a code is pasted from a right-to-left message.
      || scalar == "\u{200E}" || scalar == "\u{200F}"
  }
}
