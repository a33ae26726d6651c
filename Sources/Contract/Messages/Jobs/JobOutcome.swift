/// What became of a job. Each is final and is published as a result.
public enum JobOutcome: String, ContractWord {
  /// The provider took it.
  case accepted
  /// It never will be carried out.
  case refused
  /// Its deadline passed before it could be carried out.
  case expired
  /// It may or may not have been carried out.
  case unknown
}
