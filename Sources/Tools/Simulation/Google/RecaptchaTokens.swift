import FoundationEssentials
import Synchronization

/// Each token can be assessed once.
final class RecaptchaTokens: Sendable {
  private static let maxTokens = 200_000

  private struct State {
    var ordered = RecentMap<String, RecaptchaVerdict>(capacity: RecaptchaTokens.maxTokens)
    var used = RecentMap<String, Bool>(capacity: RecaptchaTokens.maxTokens)
  }

  private let state = Mutex(State())

  func add(_ order: RecaptchaOrder) { state.withLock { $0.ordered[order.token] = order.verdict } }

  func clear() { state.withLock { $0 = State() } }

  func assess(_ token: String) -> RecaptchaVerdict {
    state.withLock { state in
      guard state.used[token] == nil else { return .reused }
      let verdict = state.ordered[token] ?? RecaptchaVerdict(token: token)
      if verdict != .malformed { state.used[token] = true }
      return verdict
    }
  }
}

struct RecaptchaVerdict: Sendable, Equatable {
  /// In the words of reCAPTCHA Enterprise.
  var invalidReason: String?
  var score: Double
  /// `nil` means none.
  var action: String?
  /// `nil` means none, as on a web page.
  var bundleID: String?
  /// `nil` means low, if it is assessed.
  var tollFraudRisk: Double?

  static let malformed = RecaptchaVerdict(invalidReason: "MALFORMED", score: 0)
  static let reused = RecaptchaVerdict(invalidReason: "DUPE", score: 0)
}

extension RecaptchaVerdict {
  /// Verdict that a token itself asks for: `high`, `low`, `expired` or `fraud`, then, optionally, a dot and the action,
  /// a dot and any unique text, then an @ and the bundle ID of its app: `high.verify_phone.4711@com.example.app`. Parts
  /// that it lacks are missing in the answer. Any other text is not a token.
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

/// Body of `POST /control/recaptcha`.
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

  func check() throws(ControlProblem) {
    guard !token.isEmpty else { throw ControlProblem("token must not be empty") }
    try Self.require(invalidReason, among: Self.invalidReasons, "invalidReason")
    try Self.require(score, in: 0...1, "score")
    try Self.require(tollFraudRisk, in: 0...1, "tollFraudRisk")
  }

  var verdict: RecaptchaVerdict {
    RecaptchaVerdict(
      invalidReason: invalidReason, score: score ?? 0.9, action: action, bundleID: bundleID,
      tollFraudRisk: tollFraudRisk)
  }
}
