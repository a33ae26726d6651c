public import CountersignMessages

/// A worker's own part of the engine: reads its jobs, and carries each out through a lane.
///
/// The engine decodes envelope and JSON, checks the deadline, waits for a slot, claims the job in the ledger, ends a
/// call that takes too long, and turns the classification into a result, a retry delay or a dead letter.
public protocol JobHandler: Sendable {
  /// The body of the message, as the contract has it. Its type names the jobs that the worker consumes.
  associatedtype Body: CountersignMessages.Job

  /// The job ready to be carried out: checked, with its secrets opened.
  associatedtype Job: Sendable

  /// Checks the body, opens sealed fields, selects the lanes. Runs before a slot is taken, so it does no I/O.
  func prepare(_ body: Body, of message: JobMessage) -> Preparation<Job>

  /// The job that results name.
  ///
  /// - Returns: by default the message's own ID. For a further stage it is `message.stageOf`, which is an ordinary
  ///   header: return it only if a secret of the body proves that a worker wrote it.
  func jobID(of body: Body, _ message: JobMessage) -> String

  /// Carries the job out through one lane, once.
  ///
  /// It returns within `attempt.timeout`. Its task is canceled shortly after that; a handler that does not return even
  /// then is abandoned, and the outcome is unknown. The next lane is called only when this one surely did not carry the
  /// job out.
  func perform(_ job: Job, on lane: String, _ attempt: JobAttempt) async -> Classification

  /// Asks the provider whether an earlier call with an unknown end was carried out.
  ///
  /// - Returns: `accepted` or `refused` when the provider knows the call, `retry` when it surely did not happen, and
  ///   `nil` (the default) when the provider cannot tell.
  func lookUp(_ job: Job, on lane: String, _ attempt: JobAttempt) async -> Classification?

  /// Asks whether a lane that is down works again, without carrying out a job. Canceled after the lane's call timeout.
  ///
  /// - Returns: by default `.cannotTell`: then the next job is the trial.
  func probe(lane: String) async -> ProbeResult
}

extension JobHandler {
  public func jobID(of body: Body, _ message: JobMessage) -> String { message.messageID }

  public func lookUp(_ job: Job, on lane: String, _ attempt: JobAttempt) async -> Classification? { nil }

  public func probe(lane: String) async -> ProbeResult { .cannotTell }
}
