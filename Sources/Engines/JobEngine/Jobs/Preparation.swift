public import CountersignMessages

/// What a handler makes of a message body.
public enum Preparation<Job: Sendable>: Sendable {
  /// It can be carried out.
  case ready(PreparedJob<Job>)
  /// It breaks the contract, whatever time it comes: a dead letter, and a `refused` result to `reply_to`.
  case invalid(ContractProblem)
  /// It is well-formed but never will be carried out: settled as `refused`.
  case refused(Reason, extras: ResultExtras = [:])
}
