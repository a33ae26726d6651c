import CountersignMessages
import Projects

extension APIError {
  static let missingIDToken = APIError(.missingIDToken, "an ID token is needed", field: "idToken")
  static let invalidIDToken = APIError(
    .invalidIDToken, "the ID token is not one of this project: sign in again", field: "idToken")
  static let idTokenExpired = APIError(
    .tokenExpired, "the ID token has expired, or its session has ended: refresh it, or sign in again",
    field: "idToken")
  static let missingRefreshToken = APIError(.missingRefreshToken, "a refresh token is needed", field: "refreshToken")
  static let invalidRefreshToken = APIError(
    .invalidRefreshToken, "the refresh token is not one of this project: sign in again", field: "refreshToken")
  static let sessionEnded = APIError(
    .tokenExpired, "the session of the refresh token has ended: sign in again", field: "refreshToken")
  static let userNotFound = APIError(.userNotFound, "there is no such account")
  static let userDisabled = APIError(.userDisabled, "the account is disabled: an administrator can enable it")
  static let credentialTooOld = APIError(
    .credentialTooOld, "this needs a sign-in of the last few minutes: sign in again", field: "idToken")
  static let projectNotFound = APIError(
    .projectNotFound, "accounts does not know the project: give accounts and the gateway the same projectsDirectory",
    field: "project")
  static func methodOff(_ method: Project.Method) -> APIError {
    APIError(
      .operationNotAllowed, "the project does not sign in this way: add \(method.rawValue) to its 'methods'",
      field: "project", reason: "METHOD_OFF")
  }
  static let noSigningKey = APIError(
    .internalError, "no key to sign ID tokens with is ready: the readiness of accounts says why", retryAfter: 5,
    reason: "NO_SIGNING_KEY")
  static let developmentOnly = APIError(
    .operationNotAllowed, "this command is carried out in development only: set 'development' in the configuration",
    reason: "DEVELOPMENT_ONLY")

  /// Usually the sender has another key than accounts opens with.
  init(_ error: SealError, field: String) {
    self.init(.invalidArgument, "\(field) \(error)", field: field, reason: error.reason)
  }

  static let invalidReplyKey = APIError(
    .invalidArgument, "replyKey is not a public key: give a JWK of type EC on P-256", field: "replyKey",
    reason: "SEAL_INVALID_KEY")
}

extension SealError {
  /// All begin alike, so that requesters tell them from their users' mistakes.
  fileprivate var reason: String {
    switch self {
    case .unknownKey: "SEAL_UNKNOWN_KEY"
    case .moved: "SEAL_MOVED"
    case .broken: "SEAL_BROKEN"
    case .notSealed: "SEAL_NOT_SEALED"
    case .noSealingKey: "SEAL_NO_KEY"
    }
  }
}
