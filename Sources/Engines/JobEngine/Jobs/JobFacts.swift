public import CountersignMessages
public import CountersignTelemetry

/// Facts about a job that can be carried out: its handler's, and those of its message.
public struct JobFacts: Sendable {
  /// The lanes that may serve it, in the order of attempts. A lane that the worker does not have refuses the job.
  public var lanes: [String]
  /// Time after which the job is worthless.
  public var deadline: UnixTime
  /// Rule for a call with an unknown outcome.
  public var onUnknown: UnknownRule
  /// Fields that the type adds to every result of this job, whatever the outcome. The extras of the classification win.
  public var extras: ResultExtras
  /// Reason in a result with an unknown outcome: the loss, and the remedy. `nil`: the reason of the last call.
  public var unknownReason: Reason?
  /// From 1.
  var attempt = 1
  /// Time before which the provider does not accept another request.
  var notBefore: UnixTime?
  var lastReason: Reason?
  /// Calls of earlier attempts with an unknown end, as the message's own header counts them.
  var unknownCalls = 0
  var refusal: Refusal?

  struct Refusal: Sendable, Hashable {
    var reason: Reason
    var extras: ResultExtras = [:]
  }

  public init(
    lanes: [String], deadline: UnixTime, onUnknown: UnknownRule = .sender(nil), extras: ResultExtras = [:],
    unknownReason: Reason? = nil
  ) {
    self.lanes = lanes
    self.deadline = deadline
    self.onUnknown = onUnknown
    self.extras = extras
    self.unknownReason = unknownReason
  }
}

/// Rule for a job with a call that had an unknown outcome.
public enum UnknownRule: Sendable, Hashable {
  /// The sender's own rule. Without one the outcome is reported.
  case sender(OnUnknown?)
  /// A repetition is harmless: the job is carried out again, as often as the worker's configuration says.
  case resend
  /// A repetition is always harmless: the job is carried out again until its deadline.
  case resendUntilDeadline
}
