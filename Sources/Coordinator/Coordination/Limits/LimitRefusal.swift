import CountersignMessages
import CountersignTelemetry

struct LimitRefusal: Sendable, Hashable {
  var limit: Limit
  /// The figure in force. For the conversion, the percentage that was missed.
  var figure: Int
  var wait: Duration
  /// Whether not the address of the client has reached it, but the network around that.
  var isOfNetwork = false

  var waitSeconds: Int { Self.seconds(wait) }

  static func seconds(_ wait: Duration) -> Int {
    Int(max(1, (wait.wholeMilliseconds + 999) / 1000))
  }

  var text: String { limit.text(self) }

  var place: String { isOfNetwork ? "the network of this address" : "this address" }
}

extension APIError {
  /// Answers a command that reached a limit: budgets are a matter of quota, the others of trying too often.
  init(_ refusal: LimitRefusal) {
    self.init(
      refusal.limit.isBudget ? .quotaExceeded : .tooManyAttempts,
      "\(refusal.text): try again in \(refusal.waitSeconds) s", field: refusal.limit.field,
      retryAfter: refusal.waitSeconds, reason: refusal.limit.reason)
  }

  static func wrongCodesUsedUp(_ refusal: LimitRefusal, newCodeIn wait: Duration) -> APIError {
    let seconds = LimitRefusal.seconds(wait)
    return APIError(
      .tooManyAttempts, "\(refusal.text): start again in \(seconds) s for a new code", field: refusal.limit.field,
      retryAfter: seconds, reason: refusal.limit.reason)
  }
}
