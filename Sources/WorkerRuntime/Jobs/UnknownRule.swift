/// What is done with a job of which nobody knows whether it was carried out.
public enum UnknownRule: Sendable, Hashable {
  /// It is settled as `unknown`, and whoever gets the result decides.
  case report
  /// It is tried again, a bounded number of times: to do it twice is harmless.
  case resend
}
