/// An assessment of a token by reCAPTCHA.
struct RecaptchaAssessment: Sendable, Hashable {
  /// reCAPTCHA's own name of the assessment.
  var reference: String?
  /// Reason why the token is invalid, in reCAPTCHA's words. `nil` for a valid one.
  var invalidReason: String?
  /// Action of the user, as the app stated it to reCAPTCHA.
  var action: String?
  /// 0 for surely a robot, 1 for surely a person.
  var score: Double?
  /// Likelihood, from 0 to 1, that an SMS to the number is toll fraud.
  var tollFraudRisk: Double?
  /// Bundle ID of the iOS app that made the token.
  var bundleID: String?
  /// Package of the Android app that made the token.
  var androidPackage: String?
  /// Host of the page that made the token.
  var host: String?

  /// Reasons for a token that was assessed before, or that may be too old instead.
  static let duplicateReasons: Set<String> = ["DUPE", "timeout-or-duplicate"]

  /// Whether the token may have been assessed before.
  var isDuplicate: Bool { invalidReason.map(Self.duplicateReasons.contains) ?? false }
}

/// Bounds of reCAPTCHA's texts and numbers that go into results.
enum AssessmentText {
  static let maxLength = 256

  static func bounded(_ text: String?) -> String? {
    guard let text, !text.isEmpty, text.utf8.count <= maxLength,
      text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
    else { return nil }
    return text
  }

  /// A number from 0 to 1. A missing one is 0.
  static func fraction(_ number: Double?) -> Double {
    min(max(number ?? 0, 0), 1)
  }
}
