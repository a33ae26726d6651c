/// Aim of a verification: a code that was sent for one is refused for every other.
public enum VerificationPurpose: String, ContractWord {
  /// Signing in, linking, changing a number and re-authenticating: the protocols of this field do not tell them apart when the code is
  /// sent.
  case signIn
  /// Giving an account the number as a second factor. Has a subject.
  case secondFactorEnrollment
  /// Signing in with the number as the second factor. Has a subject.
  case secondFactorSignIn

  /// Whether a verification of this purpose says for whom; others must not.
  public var hasSubject: Bool { self != .signIn }

  /// For replies and events, which name a purpose only where it is not ``signIn``.
  public var unlessSignIn: VerificationPurpose? { self == .signIn ? nil : self }
}
