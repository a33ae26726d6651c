import CountersignMessages
import CountersignTelemetry

/// Facts about a job for its lifecycle.
struct JobFacts: Sendable {
  /// The lanes that may serve it, in order. Each is one of the worker's.
  var lanes: [String]
  var deadline: UnixTime
  var onUnknown: OnUnknown
  /// The number of this attempt, from 1.
  var attempt = 1
  /// Time before which the provider does not accept another request.
  var notBefore: UnixTime?
  /// Reason that the previous attempt failed.
  var lastReason: Reason?
  /// Calls of earlier attempts with an unknown end, as the message's own header counts them.
  var unknownCalls = 0
  /// Maximum repetitions when its outcome is unknown; `nil` for that of the rules.
  var maxUnknownResends: Int?
  /// Reason in a result with an unknown outcome; `nil` for the reason of the last call.
  var unknownReason: Reason?
  /// A job that is refused without a call.
  var refusal: Refusal?

  /// Reason that a job is refused without a call.
  struct Refusal: Sendable, Hashable {
    var reason: Reason
    var extras: ResultExtras = [:]
  }
}
