/// Reason that a check or a cancellation is refused. `APIError.init(_:)` maps it to an error code.
public enum VerificationRefusal: Sendable, Hashable {
  /// The code is wrong, and further attempts are allowed.
  case wrongCode(checksLeft: Int)
  /// The code was wrong in all allowed attempts.
  case tooManyAttempts
  /// The verification has expired.
  case expired
  /// The code is right, but was used before.
  case alreadyUsed
  /// The guesses that this handle shares with others are used up. The code stays valid for holders with guesses of
  /// their own.
  /// - Parameter wait: its remaining validity.
  case sharedChecksUsed(wait: Duration)
  /// The requester canceled the verification.
  case canceled
  /// No SMS could be sent, so there is no code to check.
  case notSent(VerificationFailure)
}
