import CountersignMessages

// Refusals of coordinator and accounts in the protocol's words.
//
// ```
// refusal                                             client gets
// a code of `texts`                                   400, the same code, our text
// INVALID_ACCESS_TOKEN                                401
// INSUFFICIENT_PERMISSION of a service account        403
// CONFIGURATION_NOT_FOUND, CONFIGURATION_EXISTS       404, 409
// INVALID_GRANT                                       400 in the form of OAuth
// INTERNAL_ERROR with retryAfter, or COMMAND_TOO_OLD  503 UNAVAILABLE
// INVALID_ARGUMENT about a field of the client's       400 that names the field
// a wrong configuration (Misconfiguration)            500, and the operator a log line and a count
// anything else                                       500
// ```
//
// Texts are ours: those of the services are for operators and name their configuration. Only what is wrong with a
// credential, a password, a claim or a first factor is told in the words of accounts, which are for clients.

extension ProtocolError {
  init(_ error: APIError) {
    if let problem = Misconfiguration(error), !problem.isToldToClient {
      self = .internalError
    } else if let refusal = Self.administrators[error.code.rawValue] {
      self = refusal
    } else if let text = Self.texts[error.code.rawValue] {
      self = .account(error.code.rawValue, Self.text(of: error) ?? text, retryAfter: error.retryAfter)
    } else if error.code == .invalidArgument, let name = error.field.flatMap({ Misconfiguration.inputs[$0] }) {
      self = .badField(
        name,
        expected: Misconfiguration.texts.contains(name)
          ? "shorter, and without control characters" : "of the form and within the limits of its call")
    } else if error.code == .internalError, error.retryAfter != nil || error.reason == Self.tooOld {
      self = ProtocolError(
        status: 503, Self.unavailable.message, word: Self.unavailable.word, reason: Self.unavailable.reason,
        retryAfter: error.retryAfter ?? Self.unavailable.retryAfter)
    } else {
      self = .internalError
    }
  }

  static let methodOff = account("OPERATION_NOT_ALLOWED", notAllowed)

  static let configurationNotFound = ProtocolError(
    status: 404, "CONFIGURATION_NOT_FOUND", word: "NOT_FOUND", reason: "notFound")

  private static let notAllowed = "This operation is not allowed for this project."

  private static let tooOld = "COMMAND_TOO_OLD"

  private static func text(of error: APIError) -> String? {
    switch (error.code, error.field, error.reason) {
    case (.invalidIDPResponse, _, _), (.missingOrInvalidNonce, _, .some): error.message.isEmpty ? nil : error.message
    case (.weakPassword, _, _), (.invalidCustomToken, _, _), (.forbiddenClaim, _, _), (.unsupportedFirstFactor, _, _),
      (.consentRequired, _, _), (.operationNotAllowed, _, "ADDRESSES_SHARED"):
      error.message.isEmpty ? nil : error.message
    case (.operationNotAllowed, _, "UNKNOWN_CLIENT"):
      "Team, key ID and key of Sign in with Apple are not configured for this app."
    case (.operationNotAllowed, _, "VERIFY_NEW_EMAIL"): "Please verify the new email before changing email."
    case (.invalidEmail, _, "OTHER_ADDRESS"): "The email provided does not match the sign-in email address."
    case (.operationNotAllowed, _, "PROVIDER_IN_FILE"): "The provider stands in a file of the server."
    case (.operationNotAllowed, _, "TOO_MANY_PROVIDERS"): "The project has too many providers."
    case (.operationNotAllowed, "phoneNumber", nil): "SMS to this region are not enabled."
    case (.secondFactorExists, "phoneNumber", _): "Phone number already enrolled as second factor for this account."
    default: nil
    }
  }

  /// Refusals of administrators that are not 400.
  private static let administrators: [String: ProtocolError] = [
    "INVALID_ACCESS_TOKEN": .unauthenticated,
    "INSUFFICIENT_PERMISSION": ProtocolError(
      status: 403, "INSUFFICIENT_PERMISSION : The service account lacks the role for this call.",
      word: "PERMISSION_DENIED", reason: "forbidden"),
    "CONFIGURATION_NOT_FOUND": .configurationNotFound,
    "CONFIGURATION_EXISTS": ProtocolError(
      status: 409, "CONFIGURATION_EXISTS", word: "ALREADY_EXISTS", reason: "duplicate"),
    "INVALID_GRANT": ProtocolError(
      status: 400,
      "The assertion is not one of a service account, is too old, or is for an address that administrators.tokenURIs of accounts lacks.",
      reason: "invalid_grant"),
  ]

  /// Codes that are passed on, each with its text. `nil` for a code that needs none.
  private static let texts: [String: String?] = [
    // Phone.
    "INVALID_PHONE_NUMBER": "Invalid format.",
    "MISSING_PHONE_NUMBER": nil,
    "MISSING_SESSION_INFO": nil,
    "MISSING_CODE": nil,
    "INVALID_SESSION_INFO": nil,
    "INVALID_CODE": nil,
    "SESSION_EXPIRED": "The code has expired. Please send it again.",
    "INVALID_TEMPORARY_PROOF": nil,
    "PHONE_NUMBER_EXISTS": nil,
    "QUOTA_EXCEEDED": "Exceeded quota.",
    "TOO_MANY_ATTEMPTS_TRY_LATER": "Too many attempts. Please try again later.",
    "OPERATION_NOT_ALLOWED": notAllowed,
    // Proof.
    "MISSING_CLIENT_IDENTIFIER": nil,
    "MISSING_APP_CREDENTIAL": nil,
    "INVALID_APP_CREDENTIAL": nil,
    "MISSING_IOS_APP_TOKEN": nil,
    "APP_NOT_VERIFIED": nil,
    "CAPTCHA_CHECK_FAILED": nil,
    // Providers.
    "INVALID_IDP_RESPONSE": nil,
    "MISSING_OR_INVALID_NONCE": nil,
    "INVALID_PENDING_TOKEN": nil,
    "INVALID_PROVIDER_ID": nil,
    "FEDERATED_USER_ID_ALREADY_LINKED": nil,
    "EMAIL_EXISTS": nil,
    // Second factors and consents.
    "UNSUPPORTED_FIRST_FACTOR": "MFA is not available for the given first factor.",
    "UNVERIFIED_EMAIL": "Need to verify email first before enrolling second factors.",
    "SECOND_FACTOR_EXISTS": nil,
    "SECOND_FACTOR_LIMIT_EXCEEDED": nil,
    "MFA_ENROLLMENT_NOT_FOUND": nil,
    "MISSING_MFA_PENDING_CREDENTIAL": nil,
    "INVALID_MFA_PENDING_CREDENTIAL": nil,
    "MISSING_MFA_ENROLLMENT_ID": nil,
    "CONSENT_REQUIRED": "A recorded consent to linking is needed.",
    // Passwords and links.
    "INVALID_EMAIL": "The email address is badly formatted.",
    "MISSING_EMAIL": nil,
    "MISSING_NEW_EMAIL": nil,
    "MISSING_PASSWORD": nil,
    "WEAK_PASSWORD": "Password should be at least 6 characters",
    "EMAIL_NOT_FOUND": nil,
    "INVALID_PASSWORD": nil,
    "INVALID_LOGIN_CREDENTIALS": nil,
    "MISSING_OOB_CODE": nil,
    "INVALID_OOB_CODE": nil,
    "EXPIRED_OOB_CODE": nil,
    "INVALID_CONTINUE_URI": nil,
    "UNAUTHORIZED_DOMAIN": "Domain not allowlisted by project",
    // Custom tokens and administrators.
    "MISSING_CUSTOM_TOKEN": nil,
    "INVALID_CUSTOM_TOKEN": nil,
    "CREDENTIAL_MISMATCH": nil,
    "MISSING_LOCAL_ID": nil,
    "INVALID_LOCAL_ID": nil,
    "DUPLICATE_LOCAL_ID": nil,
    "CLAIMS_TOO_LARGE": nil,
    "INVALID_CLAIMS": nil,
    "FORBIDDEN_CLAIM": nil,
    "INVALID_DURATION": nil,
    // Session.
    "MISSING_ID_TOKEN": nil,
    "INVALID_ID_TOKEN": nil,
    "TOKEN_EXPIRED": nil,
    "USER_NOT_FOUND": nil,
    "USER_DISABLED": nil,
    "CREDENTIAL_TOO_OLD_LOGIN_AGAIN": nil,
    "MISSING_REFRESH_TOKEN": nil,
    "INVALID_REFRESH_TOKEN": nil,
    // Profile.
    "INVALID_DISPLAY_NAME": nil,
    "INVALID_PHOTO_URL": nil,
  ]
}
