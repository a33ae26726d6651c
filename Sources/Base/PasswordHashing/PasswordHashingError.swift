/// Failure to hash a password, or parameters of hashes that are not taken. Its description holds no secret.
public enum PasswordHashingError: Error, Sendable, Hashable, CustomStringConvertible {
  /// All places of the pool are taken.
  case busy
  /// The task was canceled before its turn.
  case canceled
  /// A parameter, named as Firebase's `uploadAccount` names it, and its bounds.
  case invalid(field: String, rule: String)
  /// The machine has no memory for a hash, or a library lacks the algorithm.
  case unavailable

  public var description: String {
    switch self {
    case .busy: "too many passwords wait to be hashed"
    case .canceled: "the task was canceled"
    case .invalid(let field, let rule): "\(field) \(rule)"
    case .unavailable: "no memory for a hash"
    }
  }
}
