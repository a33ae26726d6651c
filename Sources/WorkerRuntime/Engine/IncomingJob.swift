import Messages
import Telemetry

/// A message that keeps the contract, ready to begin its life.
struct IncomingJob: Sendable {
  var envelope: Envelope
  var preparation: Preparation

  enum Preparation: Sendable {
    case ready(any HandlerCall, lanes: [String], deadline: UnixTime, onUnknown: OnUnknown, extras: ResultExtras)
    case refused(JobFacts.Refusal)
  }
}
