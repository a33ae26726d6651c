import CountersignMessages
import CountersignTelemetry

/// A reached limit, and how long it will last.
struct LimitRefusal: Sendable, Hashable {
  var limit: Limit
  /// The figure in force; for the conversion, the percentage that was missed.
  var figure: Int
  /// Time to wait.
  var wait: Duration

  /// ``wait`` in whole seconds, rounded up, at least 1.
  var waitSeconds: Int { Self.seconds(wait) }

  /// Whole seconds, rounded up, at least 1.
  static func seconds(_ wait: Duration) -> Int {
    Int(max(1, (wait.wholeMilliseconds + 999) / 1000))
  }

  /// The reached limit, for people.
  var text: String { limit.text(self) }
}

extension APIError {
  /// Answers a command that reached a limit: budgets are a matter of quota, the others of trying too often.
  init(_ refusal: LimitRefusal) {
    self.init(
      refusal.limit.isBudget ? .quotaExceeded : .tooManyAttempts,
      "\(refusal.text): try again in \(refusal.waitSeconds) s", field: refusal.limit.field,
      retryAfter: refusal.waitSeconds, reason: refusal.limit.reason)
  }
}
