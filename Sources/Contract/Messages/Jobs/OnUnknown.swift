/// What is done with a job when nobody knows whether it was carried out.
public enum OnUnknown: String, ContractWord {
  /// The outcome is `unknown`, and whoever gets the result decides.
  case report
  /// It is carried out again, a bounded number of times: twice is harmless.
  case resend
}
