/// State of one part of a process.
public enum HealthState: Sendable, Hashable {
  /// It works.
  case ok
  /// It fails.
  /// - Parameters:
  ///   - what: the problem, without secrets.
  ///   - mend: a hint for the reader; `nil` when waiting is enough.
  case failing(_ what: String, mend: String? = nil)
}
