/// How one part of a process is.
public enum HealthState: Sendable, Hashable {
  /// It works.
  case ok
  /// It does not.
  /// - Parameters:
  ///   - what: what is wrong, without secrets.
  ///   - mend: what the reader can do about it; `nil` when waiting is all.
  case failing(_ what: String, mend: String? = nil)
}
