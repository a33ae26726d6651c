public import CountersignMessages
public import CountersignTelemetry

/// A job that can be carried out, with what the engine needs to know of it.
public struct PreparedJob<Job: Sendable>: Sendable {
  /// What `JobHandler.perform` is called with.
  public var job: Job
  /// The lanes that may serve it, in the order in which they are tried. A name that the worker does not have refuses the job.
  public var lanes: [String]
  /// When the job is worth nothing any more.
  public var deadline: UnixTime
  /// What is done when nobody knows whether it was carried out.
  public var onUnknown: OnUnknown
  /// What the type adds to every result of this job, whatever the outcome; the extras of the classification win.
  public var extras: ResultExtras

  /// How often it is carried out again, at most, when its outcome is unknown and `onUnknown` is `resend`. Nil: as the worker is
  /// configured; `Int.max` for what is harmless however often it is done: until the deadline.
  public var maximumUnknownResends: Int?
  /// Why, in a result whose outcome is unknown: what is lost then, and what is to be done. Nil: what the last call said.
  public var unknownReason: Reason?

  /// - Parameters:
  ///   - job: What `JobHandler.perform` is called with.
  ///   - lanes: The lanes that may serve it, in the order in which they are tried.
  ///   - deadline: When the job is worth nothing any more.
  ///   - onUnknown: What is done when nobody knows whether it was carried out.
  ///   - extras: What the type adds to every result of this job.
  ///   - maximumUnknownResends: How often it is carried out again when its outcome is unknown; nil: as the worker is configured.
  ///   - unknownReason: Why, in a result whose outcome is unknown; nil: what the last call said.
  public init(
    _ job: Job, lanes: [String], deadline: UnixTime, onUnknown: OnUnknown = .report, extras: ResultExtras = [:],
    maximumUnknownResends: Int? = nil, unknownReason: Reason? = nil
  ) {
    self.job = job
    self.lanes = lanes
    self.deadline = deadline
    self.onUnknown = onUnknown
    self.extras = extras
    self.maximumUnknownResends = maximumUnknownResends
    self.unknownReason = unknownReason
  }
}
