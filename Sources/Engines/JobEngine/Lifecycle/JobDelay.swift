import CountersignMessages
import CountersignTelemetry

struct JobDelay: Sendable, Hashable {
  var step: RetryStep
  /// Whether this attempt counts: a call was made and failed.
  var countsAttempt: Bool
  var reason: Reason
  /// Time before which the provider does not accept another request, which the retry delay alone does not reach.
  var notBefore: UnixTime?
  var unknownCalls: Int

  func nextAttempt(after now: UnixTime) -> UnixTime { max(now + step.delay, notBefore ?? now) }
}
