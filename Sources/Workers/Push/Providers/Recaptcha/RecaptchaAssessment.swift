struct RecaptchaAssessment: Sendable, Hashable {
  /// reCAPTCHA's own name of the assessment.
  var reference: String?
  /// In reCAPTCHA's words. `nil` for a valid token.
  var invalidReason: String?
  /// Action of the user, as the app stated it to reCAPTCHA.
  var action: String?
  /// 0 for surely a robot, 1 for surely a person.
  var score: Double?
  /// From 0 to 1.
  var tollFraudRisk: Double?
  var bundleID: String?
  var androidPackage: String?
  var host: String?

  /// Reasons for a token that was assessed before, or that may be too old instead.
  static let duplicateReasons: Set<String> = ["DUPE", "timeout-or-duplicate"]

  var isDuplicate: Bool { invalidReason.map(Self.duplicateReasons.contains) ?? false }
}

enum AssessmentText {
  static let maxLength = 256

  static func bounded(_ text: String?) -> String? {
    guard let text, !text.isEmpty, text.utf8.count <= maxLength,
      text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
    else { return nil }
    return text
  }

  /// A missing one is 0.
  static func fraction(_ number: Double?) -> Double {
    min(max(number ?? 0, 0), 1)
  }
}
