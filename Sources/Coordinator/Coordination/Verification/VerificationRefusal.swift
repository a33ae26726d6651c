import CountersignMessages
import CountersignTelemetry

/// `APIError.init(_:)` maps it to an error code.
enum VerificationRefusal: Sendable, Hashable {
  /// The code is wrong, and further attempts are allowed.
  case wrongCode(checksLeft: Int)
  /// The code was wrong in all allowed attempts.
  case tooManyAttempts
  case expired
  /// The code is right, but was used before.
  case alreadyUsed
  /// The guesses that this handle shares with others are used up. The code stays valid for holders with guesses of
  /// their own.
  case sharedChecksUsed(wait: Duration)
  case canceled
  /// No SMS could be sent, so there is no code to check.
  case notSent(VerificationFailure)
  /// The pepper or the fixed code of the verification is no longer configured.
  case codeLost
}

// Maps refusals to error codes. The codes are a fixed list that app SDKs map; the message distinguishes what the code
// does not.
//
// ```
// a check of a code that …                            gets
// is wrong                                            INVALID_CODE
// is the fifth wrong one, or comes later              TOO_MANY_ATTEMPTS_TRY_LATER
// is too late                                         SESSION_EXPIRED
// was canceled, or never sent                         SESSION_EXPIRED
// was used before                                     SESSION_EXPIRED, CODE_USED
// belongs to no verification                          INVALID_SESSION_INFO
// belongs to one of another app, purpose or subject   INVALID_SESSION_INFO
// ```
//
// Only the right code learns that it was used. Any other code for an approved verification gets the answer of an
// expired one, so that a guess does not reveal that another person has signed in. A canceled verification and one whose
// SMS was not sent require the same of the app as an expired one: to start again.
extension APIError {
  init(_ refusal: VerificationRefusal) {
    switch refusal {
    case .wrongCode(let left):
      self.init(
        .invalidCode, "the code is wrong; \(left) more \(left == 1 ? "try" : "tries")", field: "code",
        attemptsLeft: left)
    case .tooManyAttempts:
      self.init(.tooManyAttempts, "the code was wrong too often and is no longer accepted: start a new verification")
    case .expired:
      self.init(.sessionExpired, "the code has expired: start a new verification", field: "verificationID")
    case .canceled:
      self.init(.sessionExpired, "the verification was canceled: start a new one", field: "verificationID")
    case .notSent(let failure):
      self.init(
        .sessionExpired, "no message with the code could be sent (\(failure.code)): start a new verification",
        field: "verificationID")
    case .codeLost:
      self.init(
        .sessionExpired,
        "the code can no longer be compared, since the service's secrets have changed: start a new verification",
        field: "verificationID", reason: VerificationFailure.codeLost.code)
    case .alreadyUsed:
      self.init(
        .sessionExpired,
        "the number was verified with this code already, and a code is accepted once: start a new verification",
        field: "verificationID", reason: Self.codeUsed)
    case .sharedChecksUsed(let wait):
      let seconds = LimitRefusal.seconds(wait)
      self.init(
        .tooManyAttempts,
        "the code was wrong too often for those who did not ask for it first: start a new verification in \(seconds) s",
        field: "verificationID", retryAfter: seconds)
    }
  }

  static let codeUsed = "CODE_USED"

  /// Answers a further requester when a verification has its maximum of requesters. The code stays valid for those.
  static func tooManyRequesters(wait: Duration) -> APIError {
    let seconds = LimitRefusal.seconds(wait)
    return APIError(
      .tooManyAttempts, "this number is being verified for too many requesters: try again in \(seconds) s",
      field: "phoneNumber", retryAfter: seconds, reason: "TOO_MANY_REQUESTERS")
  }

  static func otherVerification(_ field: String) -> APIError {
    APIError(
      .invalidSessionInfo, "there is no such verification of this \(field): send the code where it was requested",
      field: field)
  }

  static let unknownVerification = APIError(
    .invalidSessionInfo, "there is no such verification: start one, and send its verificationID",
    field: "verificationID")
}
