public import CountersignMessages

/// A handler's reading of a message body.
public enum Preparation<Job: Sendable>: Sendable {
  /// It can be carried out, and becomes the argument of ``JobHandler/perform(_:on:_:)``.
  case ready(Job, JobFacts)
  /// It breaks the contract at any time: a dead letter, and a `refused` result to `reply_to`.
  case invalid(ContractProblem)
  /// It is well-formed but will never be carried out: settled as `refused`.
  case refused(Reason, extras: ResultExtras = [:])
}
