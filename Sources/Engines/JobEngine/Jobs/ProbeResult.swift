/// What asking a lane that is down came to.
public enum ProbeResult: Sendable, Hashable {
  /// It works again.
  case up
  /// It still does not.
  case down(Reason)
  /// The provider has nothing that can be asked without carrying out a job: one job is the trial.
  case cannotTell
}
