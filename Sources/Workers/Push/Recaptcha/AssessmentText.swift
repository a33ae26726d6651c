/// Bounds of what comes from reCAPTCHA and goes on into results.
enum AssessmentText {
  static let maxLength = 256

  /// - Returns: nil for no text, an empty one, and one that is too long or has controls.
  static func bounded(_ text: String?) -> String? {
    guard let text, !text.isEmpty, text.utf8.count <= maxLength,
      text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
    else { return nil }
    return text
  }

  /// A number from 0 to 1; none is 0.
  static func fraction(_ number: Double?) -> Double {
    min(max(number ?? 0, 0), 1)
  }
}
