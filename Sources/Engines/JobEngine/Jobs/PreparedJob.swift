public import CountersignMessages
public import CountersignTelemetry

/// A job that can be carried out, with the facts that the engine needs.
public struct PreparedJob<Job: Sendable>: Sendable {
  /// Argument of ``JobHandler/perform(_:on:_:)``.
  public var job: Job
  /// The lanes that may serve it, in the order of attempts. A lane that the worker does not have refuses the job.
  public var lanes: [String]
  /// Time after which the job is worthless.
  public var deadline: UnixTime
  /// Action when it is unknown whether the job was carried out.
  public var onUnknown: OnUnknown
  /// Fields that the type adds to every result of this job, whatever the outcome; the extras of the classification win.
  public var extras: ResultExtras

  /// Maximum repetitions when its outcome is unknown and `onUnknown` is `resend`. `nil`: the worker's configuration;
  /// `Int.max` for a job that is harmless to repeat: until the deadline.
  public var maxUnknownResends: Int?
  /// Reason in a result with an unknown outcome: the loss, and the remedy. `nil`: the reason of the last call.
  public var unknownReason: Reason?

  public init(
    _ job: Job, lanes: [String], deadline: UnixTime, onUnknown: OnUnknown = .report, extras: ResultExtras = [:],
    maxUnknownResends: Int? = nil, unknownReason: Reason? = nil
  ) {
    self.job = job
    self.lanes = lanes
    self.deadline = deadline
    self.onUnknown = onUnknown
    self.extras = extras
    self.maxUnknownResends = maxUnknownResends
    self.unknownReason = unknownReason
  }
}
