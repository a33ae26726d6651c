import CountersignMessages
import CountersignTelemetry

/// A message that satisfies the contract, ready to run.
struct IncomingJob: Sendable {
  var envelope: Envelope
  /// The user that sent it; see `SenderRule`.
  var sender: String
  var jobID: String
  var preparation: Preparation

  enum Preparation: Sendable {
    case ready(PreparedJob<any HandlerCall>)
    case refused(JobFacts.Refusal)
  }
}

extension PreparedJob {
  func replacingJob(with call: any HandlerCall) -> PreparedJob<any HandlerCall> {
    PreparedJob<any HandlerCall>(
      call, lanes: lanes, deadline: deadline, onUnknown: onUnknown, extras: extras,
      maxUnknownResends: maxUnknownResends, unknownReason: unknownReason)
  }
}
