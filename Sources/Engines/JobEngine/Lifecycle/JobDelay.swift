import CountersignMessages
import CountersignTelemetry

/// A trip through a delay step.
struct JobDelay: Sendable, Hashable {
  var step: RetryStep
  /// Whether this attempt counts: a call was made that failed.
  var countsAttempt: Bool
  var reason: Reason
  /// The provider does not want to be asked again before this time, which the step alone does not reach.
  var notBefore: UnixTime?
  var unknownCalls: Int
}
