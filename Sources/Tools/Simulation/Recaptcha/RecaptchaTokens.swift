import Synchronization

/// What is to be said of tokens, and which of them were assessed: each can be once.
final class RecaptchaTokens: Sendable {
  private static let maxTokens = 200_000

  private struct State {
    var ordered = RecentMap<String, RecaptchaVerdict>(capacity: RecaptchaTokens.maxTokens)
    var used = RecentMap<String, Bool>(capacity: RecaptchaTokens.maxTokens)
  }

  private let state = Mutex(State())

  /// Puts an order into force.
  func add(_ body: [UInt8]) throws(ControlProblem) {
    let order = try RecaptchaOrder.read(body)
    let verdict = try order.verdict()
    state.withLock { $0.ordered[order.token] = verdict }
  }

  func clear() { state.withLock { $0 = State() } }

  /// The verdict of a token, which is used up with it.
  func assess(_ token: String) -> RecaptchaVerdict {
    state.withLock { state in
      guard state.used[token] == nil else { return .reused }
      let verdict = state.ordered[token] ?? RecaptchaVerdict(token: token)
      if verdict != .malformed { state.used[token] = true }
      return verdict
    }
  }
}
