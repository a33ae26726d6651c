import FoundationEssentials

/// What is to be said of a token.
struct RecaptchaVerdict: Sendable, Equatable {
  /// Why it is not valid, in the words of reCAPTCHA Enterprise.
  var invalidReason: String?
  var score: Double
  /// `nil`: the action that is expected.
  var action: String?
  /// The app that the token was made in; `nil`: the one that the key belongs to.
  var bundleID: String?
  /// `nil`: low.
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
  /// and anything that makes it unique: `high.verify_phone.4711`. Every other text is no token.
  init(token: String) {
    let words = token.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
    let action = words.count > 1 && !words[1].isEmpty ? String(words[1]) : nil
    switch words.first {
    case "high": self.init(score: 0.9, action: action)
    case "low": self.init(score: 0.1, action: action)
    case "fraud": self.init(score: 0.9, action: action, tollFraudRisk: 0.95)
    case "expired": self.init(invalidReason: "EXPIRED", score: 0, action: action)
    default: self = .malformed
    }
  }
}
