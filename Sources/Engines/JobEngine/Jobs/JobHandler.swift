public import CountersignMessages

/// What a worker's own library brings to the engine: how to read its jobs, and how to carry one out through a lane.
///
/// The engine does everything else: it decodes the envelope and the JSON, checks the deadline, waits for a slot of the
/// lane, claims the job in the ledger, ends a call that takes too long, and turns the classification into a result, a
/// delay step or a dead letter.
public protocol JobHandler: Sendable {
  /// The body of the message, as the contract has it; its type names the jobs that the worker takes.
  associatedtype Body: CountersignMessages.Job

  /// The job ready to be carried out: checked, with its secrets opened.
  associatedtype Job: Sendable

  /// Checks the body, opens what is sealed, names the lanes. Runs before a slot is taken, so it does no I/O.
  func prepare(_ body: Body, of message: JobMessage) -> Preparation<Job>

  /// The job that results are reported of.
  ///
  /// - Returns: The default is the message's own ID. For a further stage it is `message.stageOf`, which is an ordinary header: to be
  ///   returned only where a secret of the body proves that a worker wrote it.
  func jobID(of body: Body, _ message: JobMessage) -> String

  /// Carries the job out through one lane, once.
  ///
  /// It returns within `attempt.timeout`. Its task is cancelled shortly after that; a handler that does not return even
  /// then is abandoned, and the outcome is unknown. It is called for the next lane only when this one surely did not do it.
  func perform(_ job: Job, on lane: String, _ attempt: JobAttempt) async -> Classification

  /// Asks the provider whether an earlier call, of which nobody knows the end, was carried out.
  ///
  /// - Returns: `accepted` or `refused` when the provider knows the call, `retry` when it surely did not happen, and nil (the
  ///   default) when the provider cannot tell.
  func lookUp(_ job: Job, on lane: String, _ attempt: JobAttempt) async -> Classification?

  /// Asks whether a lane that is down works again, without carrying out a job. Cancelled after the lane's call time-out.
  ///
  /// - Returns: The default is `.cannotTell`: then the next job is the trial.
  func probe(lane: String) async -> ProbeResult
}

extension JobHandler {
  public func jobID(of body: Body, _ message: JobMessage) -> String { message.messageID }

  public func lookUp(_ job: Job, on lane: String, _ attempt: JobAttempt) async -> Classification? { nil }

  public func probe(lane: String) async -> ProbeResult { .cannotTell }
}
