/// The body of `POST /control/recaptcha`: what is to be said of a token.
struct RecaptchaOrder: ControlOrder {
  static let fields: Set<String> = ["token", "score", "action", "invalidReason", "bundleID", "tollFraudRisk"]
  private static let invalidReasons: Set<String> = [
    "MALFORMED", "EXPIRED", "DUPE", "MISSING", "BROWSER_ERROR", "UNEXPECTED_ACTION", "KEY_MISMATCH",
    "DOMAIN_MISMATCH",
  ]

  let token: String
  private let score: Double?
  private let action: String?
  private let invalidReason: String?
  private let bundleID: String?
  private let tollFraudRisk: Double?

  func verdict() throws(ControlProblem) -> RecaptchaVerdict {
    guard !token.isEmpty else { throw ControlProblem("token must not be empty") }
    if let invalidReason, !Self.invalidReasons.contains(invalidReason) {
      throw ControlProblem("invalidReason must be one of \(Self.invalidReasons.sorted().joined(separator: ", "))")
    }
    return RecaptchaVerdict(
      invalidReason: invalidReason, score: try Self.within(score, 0...1, "score") ?? 0.9, action: action,
      bundleID: bundleID, tollFraudRisk: try Self.within(tollFraudRisk, 0...1, "tollFraudRisk"))
  }
}
