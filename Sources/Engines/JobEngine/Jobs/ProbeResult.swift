/// Outcome of probing a lane that is down.
public enum ProbeResult: Sendable, Hashable {
  /// It works again.
  case up
  /// It still fails.
  case down(Reason)
  /// The provider has nothing to query without carrying out a job: one job is the trial.
  case cannotTell
}
