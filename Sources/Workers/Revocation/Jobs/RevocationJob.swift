import CountersignMessages
import CountersignTelemetry
import JobEngine

/// An `apple.revoke` job, checked and opened.
public struct RevocationJob: Sendable {
  enum Step: Sendable {
    case exchange(code: Secret, redirectURI: String?)
    case revoke(token: Secret, hint: String)
  }

  let app: String
  let clientID: String?
  let deadline: UnixTime
  let step: Step
  /// The subject that the code has to be of, if the job names one.
  var subject: String?
}

enum RevocationStage: String {
  case exchange, revoke, revoked

  static let key = "stage"
  static let subject = "subject"

  var value: JobResult.Value { .string(rawValue) }
}

extension Reason {
  /// A code may be used up, and the token Apple gave for it is lost.
  static let lost = Reason(
    "LOST",
    "The exchange of the authorization code ended unknown or without a usable token, so the code may be used up and a token "
      + "may exist that this system does not know. The user has to sign in with Apple again for another code, or stop using "
      + "Apple ID with this app: Settings > Apple Account > Sign in with Apple.")

  static let notConfirmed = Reason(
    "NOT_CONFIRMED",
    "Apple was asked to revoke the token and did not confirm it before the deadline. Revoking it again is harmless."
  )

  /// The redirect URI is the only possible reason.
  static let redirectMismatch = Reason(
    "REDIRECT_URI_MISMATCH",
    "Apple accepts the client and refuses the code with this redirectURI: it must be the one of the authorization request, and "
      + "absent for a code that was issued to an app.", providerCode: AppleError.invalidClient)

  static let unknownClient = Reason(
    "UNKNOWN_CLIENT",
    "This worker has no lane for the client of this job: add one to `lanes`, with clientID, teamID, keyID and keyFile, or "
      + "check app and clientID.")

  /// The code is used up, and the token that it yielded stays as it is.
  static let subjectMismatch = Reason(
    "SUBJECT_MISMATCH", "The code is of another Apple Account than the job names, so nothing was revoked.")

  func with(providerCode: String?) -> Reason {
    var reason = self
    reason.providerCode = providerCode ?? reason.providerCode
    return reason
  }
}
