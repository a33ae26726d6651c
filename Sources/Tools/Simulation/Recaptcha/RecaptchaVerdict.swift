import FoundationEssentials

/// What is to be said of a token.
struct RecaptchaVerdict: Sendable, Equatable {
  /// Why it is not valid, in the words of reCAPTCHA Enterprise.
  var invalidReason: String?
  var score: Double
  /// The action that the user was about to take, as the app said when it made the token; `nil`: nothing.
  var action: String?
  /// The app that the token was made in; `nil`: none, as on a page of the web.
  var bundleID: String?
  /// `nil`: low, where it is assessed.
  var tollFraudRisk: Double?

  static let malformed = RecaptchaVerdict(invalidReason: "MALFORMED", score: 0)
  static let reused = RecaptchaVerdict(invalidReason: "DUPE", score: 0)

  init(
    invalidReason: String? = nil, score: Double, action: String? = nil, bundleID: String? = nil,
    tollFraudRisk: Double? = nil
  ) {
    self.invalidReason = invalidReason
    self.score = score
    self.action = action
    self.bundleID = bundleID
    self.tollFraudRisk = tollFraudRisk
  }

  /// The verdict that a token itself asks for: `high`, `low`, `expired` or `fraud`, then, if wanted, a dot and the action, a dot
  /// and anything that makes it unique, then an @ and the bundle ID of the app that it was made in:
  /// `high.verify_phone.4711@com.example.app`. What it does not say, the answer does not have. Every other text is no token.
  init(token: String) {
    let parts = token.split(separator: "@", maxSplits: 1)
    let words = (parts.first ?? "").split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
    let action = words.count > 1 && !words[1].isEmpty ? String(words[1]) : nil
    let app = parts.count > 1 ? String(parts[1]) : nil
    switch words.first {
    case "high": self.init(score: 0.9, action: action, bundleID: app)
    case "low": self.init(score: 0.1, action: action, bundleID: app)
    case "fraud": self.init(score: 0.9, action: action, bundleID: app, tollFraudRisk: 0.95)
    case "expired": self.init(invalidReason: "EXPIRED", score: 0, action: action)
    default: self = .malformed
    }
  }
}
