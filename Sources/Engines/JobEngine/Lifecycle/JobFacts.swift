import CountersignMessages
import CountersignTelemetry

/// What the lifecycle has to know of a job.
struct JobFacts: Sendable {
  /// The lanes that may serve it, in order. Each is one of the worker's.
  var lanes: [String]
  var deadline: UnixTime
  var onUnknown: OnUnknown
  /// The number of this attempt, from 1.
  var attempt = 1
  /// Before this time the provider does not want to be asked again.
  var notBefore: UnixTime?
  /// Why the attempt before this one failed.
  var lastReason: Reason?
  /// Calls of earlier attempts of which nobody knows how they ended, as the message's own header has it.
  var unknownCalls = 0
  /// How often it is carried out again when its outcome is unknown; nil: as the rules have it.
  var maximumUnknownResends: Int?
  /// Why, in a result whose outcome is unknown; nil: what the last call said.
  var unknownReason: Reason?
  /// A job that is refused without a call.
  var refusal: Refusal?

  /// Why a job is refused without a call.
  struct Refusal: Sendable, Hashable {
    var reason: Reason
    var extras: ResultExtras = [:]
  }
}
