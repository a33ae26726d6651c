/// Why a check or a cancellation is refused. Each has an error code of its own, see ``CommandError``.
public enum VerificationRefusal: Sendable, Hashable {
  /// The code is wrong, and may be tried again.
  case wrongCode(checksLeft: Int)
  /// The code was wrong as often as is allowed.
  case tooManyAttempts
  /// The time ran out.
  case expired
  /// The code is the right one, and was used before.
  case alreadyUsed
  /// The guesses that this handle shares with others are used up. The code goes on for those who have guesses of their own.
  /// - Parameter wait: how long it goes on.
  case sharedChecksUsed(wait: Duration)
  /// The caller ended the verification.
  case canceled
  /// No message could be sent, so nobody can have the code.
  case notSent(VerificationFailure)
}
