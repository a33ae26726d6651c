/// Reason of a refused command.
public struct APIError: Error, Codable, Sendable, Hashable {
  /// Reason for programs.
  public var code: APIErrorCode
  /// Reason and remedy for people. Never repeats a secret.
  public var message: String
  /// Field at fault, if there is one.
  public var field: String?
  /// Seconds to wait before trying again. Absent if waiting does not help.
  public var retryAfter: Int?
  /// Detail that distinguishes reasons with the same code, upper case with underscores: `RECEIPT_EXPIRED`.
  public var reason: String?
  /// Remaining attempts, with ``APIErrorCode/invalidCode``.
  public var attemptsLeft: Int?

  public init(
    _ code: APIErrorCode, _ message: String, field: String? = nil, retryAfter: Int? = nil, reason: String? = nil,
    attemptsLeft: Int? = nil
  ) {
    self.code = code
    self.message = message
    self.field = field
    self.retryAfter = retryAfter
    self.reason = reason
    self.attemptsLeft = attemptsLeft
  }

  /// The error of a command that breaks the contract.
  public init(_ problem: ContractProblem) {
    self.init(.invalidArgument, problem.description, field: problem.field)
  }

  /// Whether the same command may succeed later.
  public var isRetriable: Bool { retryAfter != nil || code == .internalError }
}

extension APIError: CustomStringConvertible {
  public var description: String { "\(code): \(message)" }
}

/// Reply to a refused command.
public struct ErrorReply: MessageBody, Hashable {
  public static let type = MessageType("error")

  public var error: APIError

  public init(_ error: APIError) {
    self.error = error
  }
}

/// Reason of a refused command for programs: codes that app SDKs of this field already map. More words may be added.
public struct APIErrorCode: OpenWord {
  public let rawValue: String

  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// The phone number is invalid, or of a kind that receives no SMS.
  public static let invalidPhoneNumber = APIErrorCode(rawValue: "INVALID_PHONE_NUMBER")
  /// The phone number is missing.
  public static let missingPhoneNumber = APIErrorCode(rawValue: "MISSING_PHONE_NUMBER")
  /// A budget is used up.
  public static let quotaExceeded = APIErrorCode(rawValue: "QUOTA_EXCEEDED")
  /// Too many requests in too short a time.
  public static let tooManyAttempts = APIErrorCode(rawValue: "TOO_MANY_ATTEMPTS_TRY_LATER")
  /// The proof of the app is missing.
  public static let missingClientIdentifier = APIErrorCode(rawValue: "MISSING_CLIENT_IDENTIFIER")
  /// Receipt and secret do not match, or are too old.
  public static let invalidAppCredential = APIErrorCode(rawValue: "INVALID_APP_CREDENTIAL")
  /// The receipt or the secret is missing.
  public static let missingAppCredential = APIErrorCode(rawValue: "MISSING_APP_CREDENTIAL")
  /// The device token is missing.
  public static let missingIOSAppToken = APIErrorCode(rawValue: "MISSING_IOS_APP_TOKEN")
  /// reCAPTCHA classified the caller as a machine.
  public static let captchaCheckFailed = APIErrorCode(rawValue: "CAPTCHA_CHECK_FAILED")
  /// The request could not be proven to come from the app.
  public static let appNotVerified = APIErrorCode(rawValue: "APP_NOT_VERIFIED")
  /// Unknown verification.
  public static let invalidSessionInfo = APIErrorCode(rawValue: "INVALID_SESSION_INFO")
  /// The code is wrong.
  public static let invalidCode = APIErrorCode(rawValue: "INVALID_CODE")
  /// The verification is over: its time ran out, its code was used, or it was canceled.
  public static let sessionExpired = APIErrorCode(rawValue: "SESSION_EXPIRED")
  /// The configuration forbids it: the region, the app.
  public static let operationNotAllowed = APIErrorCode(rawValue: "OPERATION_NOT_ALLOWED")
  /// The command breaks the contract.
  public static let invalidArgument = APIErrorCode(rawValue: "INVALID_ARGUMENT")
  /// Failure of Countersign.
  public static let internalError = APIErrorCode(rawValue: "INTERNAL_ERROR")

  /// A session ID is missing.
  public static let missingSessionInfo = APIErrorCode(rawValue: "MISSING_SESSION_INFO")
  /// The code is missing.
  public static let missingCode = APIErrorCode(rawValue: "MISSING_CODE")
  /// The proof of a number is wrong, used, too old, or of another number.
  public static let invalidTemporaryProof = APIErrorCode(rawValue: "INVALID_TEMPORARY_PROOF")
  /// Another account has the number.
  public static let phoneNumberExists = APIErrorCode(rawValue: "PHONE_NUMBER_EXISTS")
  /// The ID token is missing.
  public static let missingIDToken = APIErrorCode(rawValue: "MISSING_ID_TOKEN")
  /// The ID token is not one of the project, or was changed.
  public static let invalidIDToken = APIErrorCode(rawValue: "INVALID_ID_TOKEN")
  /// The token is too old, or its session is over.
  public static let tokenExpired = APIErrorCode(rawValue: "TOKEN_EXPIRED")
  /// The refresh token is missing.
  public static let missingRefreshToken = APIErrorCode(rawValue: "MISSING_REFRESH_TOKEN")
  /// The refresh token is not one of the project, or was changed.
  public static let invalidRefreshToken = APIErrorCode(rawValue: "INVALID_REFRESH_TOKEN")
  /// The account is not there, or not any longer.
  public static let userNotFound = APIErrorCode(rawValue: "USER_NOT_FOUND")
  /// The account is disabled.
  public static let userDisabled = APIErrorCode(rawValue: "USER_DISABLED")
  /// The user has to sign in again before so sensitive a change.
  public static let credentialTooOld = APIErrorCode(rawValue: "CREDENTIAL_TOO_OLD_LOGIN_AGAIN")
  /// `accounts` does not have the project: its configuration and that of the requester differ.
  public static let projectNotFound = APIErrorCode(rawValue: "PROJECT_NOT_FOUND")
  /// The provider's credential is wrong: another issuer or audience, too old, forged, or of another account.
  public static let invalidIDPResponse = APIErrorCode(rawValue: "INVALID_IDP_RESPONSE")
  /// The nonce of the provider's token is not that of the request, or the token was used before.
  public static let missingOrInvalidNonce = APIErrorCode(rawValue: "MISSING_OR_INVALID_NONCE")
  /// The pending token is wrong, used, or too old.
  public static let invalidPendingToken = APIErrorCode(rawValue: "INVALID_PENDING_TOKEN")
  /// There is no provider of that ID.
  public static let invalidProviderID = APIErrorCode(rawValue: "INVALID_PROVIDER_ID")
  /// The identity is linked to an account already, or the account has another one of the provider.
  public static let identityAlreadyLinked = APIErrorCode(rawValue: "FEDERATED_USER_ID_ALREADY_LINKED")
  /// An account of this first factor cannot have that second factor, or the reverse.
  public static let unsupportedFirstFactor = APIErrorCode(rawValue: "UNSUPPORTED_FIRST_FACTOR")
  /// The address of the account has to be verified first.
  public static let unverifiedEmail = APIErrorCode(rawValue: "UNVERIFIED_EMAIL")
  /// The account has that second factor.
  public static let secondFactorExists = APIErrorCode(rawValue: "SECOND_FACTOR_EXISTS")
  /// The account has as many second factors as it may.
  public static let secondFactorLimitExceeded = APIErrorCode(rawValue: "SECOND_FACTOR_LIMIT_EXCEEDED")
  /// The account has no such second factor.
  public static let enrollmentNotFound = APIErrorCode(rawValue: "MFA_ENROLLMENT_NOT_FOUND")
  /// Neither an ID token nor a pending credential was sent.
  public static let missingPendingCredential = APIErrorCode(rawValue: "MISSING_MFA_PENDING_CREDENTIAL")
  /// The pending credential is wrong, used, or too old.
  public static let invalidPendingCredential = APIErrorCode(rawValue: "INVALID_MFA_PENDING_CREDENTIAL")
  /// The second factor is not named.
  public static let missingEnrollmentID = APIErrorCode(rawValue: "MISSING_MFA_ENROLLMENT_ID")
  /// The project demands a recorded consent to linking, and there is none.
  public static let consentRequired = APIErrorCode(rawValue: "CONSENT_REQUIRED")
  /// Another account has the address.
  public static let emailExists = APIErrorCode(rawValue: "EMAIL_EXISTS")
  /// The text is not a mail address, or not the one that the code was sent to.
  public static let invalidEmail = APIErrorCode(rawValue: "INVALID_EMAIL")
  /// The address is missing.
  public static let missingEmail = APIErrorCode(rawValue: "MISSING_EMAIL")
  /// The new address is missing.
  public static let missingNewEmail = APIErrorCode(rawValue: "MISSING_NEW_EMAIL")
  /// The password is missing.
  public static let missingPassword = APIErrorCode(rawValue: "MISSING_PASSWORD")
  /// The password does not follow the project's rules.
  public static let weakPassword = APIErrorCode(rawValue: "WEAK_PASSWORD")
  /// No account has the address.
  public static let emailNotFound = APIErrorCode(rawValue: "EMAIL_NOT_FOUND")
  /// The password is wrong.
  public static let invalidPassword = APIErrorCode(rawValue: "INVALID_PASSWORD")
  /// Address or password is wrong; the project protects addresses, so it is not told which one.
  public static let invalidLoginCredentials = APIErrorCode(rawValue: "INVALID_LOGIN_CREDENTIALS")
  /// The code of a link is missing.
  public static let missingOobCode = APIErrorCode(rawValue: "MISSING_OOB_CODE")
  /// The code of a link is wrong, or used.
  public static let invalidOobCode = APIErrorCode(rawValue: "INVALID_OOB_CODE")
  /// The code of a link is too old.
  public static let expiredOobCode = APIErrorCode(rawValue: "EXPIRED_OOB_CODE")
  /// The page to go on to is not an address.
  public static let invalidContinueURI = APIErrorCode(rawValue: "INVALID_CONTINUE_URI")
  /// The page to go on to is not one of the project's domains.
  public static let unauthorizedDomain = APIErrorCode(rawValue: "UNAUTHORIZED_DOMAIN")
  /// The custom token is missing.
  public static let missingCustomToken = APIErrorCode(rawValue: "MISSING_CUSTOM_TOKEN")
  /// The custom token is malformed, too old, or not signed by a service account of the project.
  public static let invalidCustomToken = APIErrorCode(rawValue: "INVALID_CUSTOM_TOKEN")
  /// The custom token is of another project.
  public static let credentialMismatch = APIErrorCode(rawValue: "CREDENTIAL_MISMATCH")
  /// The ID of the user is missing.
  public static let missingLocalID = APIErrorCode(rawValue: "MISSING_LOCAL_ID")
  /// The ID of the user is too long.
  public static let invalidLocalID = APIErrorCode(rawValue: "INVALID_LOCAL_ID")
  /// Another account has the ID.
  public static let duplicateLocalID = APIErrorCode(rawValue: "DUPLICATE_LOCAL_ID")
  /// The claims have more than 1,000 characters.
  public static let claimsTooLarge = APIErrorCode(rawValue: "CLAIMS_TOO_LARGE")
  /// The claims are not a JSON object.
  public static let invalidClaims = APIErrorCode(rawValue: "INVALID_CLAIMS")
  /// A claim has a name that tokens use themselves.
  public static let forbiddenClaim = APIErrorCode(rawValue: "FORBIDDEN_CLAIM")
  /// The validity of the session cookie is out of range.
  public static let invalidDuration = APIErrorCode(rawValue: "INVALID_DURATION")
  /// The service account lacks the role.
  public static let insufficientPermission = APIErrorCode(rawValue: "INSUFFICIENT_PERMISSION")
  /// The access token is wrong, too old, or its service account is gone.
  public static let invalidAccessToken = APIErrorCode(rawValue: "INVALID_ACCESS_TOKEN")
  /// The project has no such provider.
  public static let configurationNotFound = APIErrorCode(rawValue: "CONFIGURATION_NOT_FOUND")
  /// The project has such a provider already.
  public static let configurationExists = APIErrorCode(rawValue: "CONFIGURATION_EXISTS")
  /// The assertion of a service account is wrong.
  public static let invalidGrant = APIErrorCode(rawValue: "INVALID_GRANT")

  public static let known: [APIErrorCode] = [
    .invalidPhoneNumber, .missingPhoneNumber, .quotaExceeded, .tooManyAttempts, .missingClientIdentifier,
    .invalidAppCredential, .missingAppCredential, .missingIOSAppToken, .captchaCheckFailed, .appNotVerified,
    .invalidSessionInfo, .invalidCode, .sessionExpired, .operationNotAllowed, .missingSessionInfo, .missingCode,
    .invalidTemporaryProof, .phoneNumberExists, .missingIDToken, .invalidIDToken, .tokenExpired, .missingRefreshToken,
    .invalidRefreshToken, .userNotFound, .userDisabled, .credentialTooOld, .projectNotFound, .invalidIDPResponse,
    .missingOrInvalidNonce, .invalidPendingToken, .invalidProviderID, .identityAlreadyLinked, .emailExists,
    .unsupportedFirstFactor, .unverifiedEmail, .secondFactorExists, .secondFactorLimitExceeded, .enrollmentNotFound,
    .missingPendingCredential, .invalidPendingCredential, .missingEnrollmentID, .consentRequired,
    .invalidEmail, .missingEmail, .missingNewEmail, .missingPassword, .weakPassword, .emailNotFound,
    .invalidPassword, .invalidLoginCredentials, .missingOobCode, .invalidOobCode, .expiredOobCode,
    .invalidContinueURI, .unauthorizedDomain, .missingCustomToken, .invalidCustomToken, .credentialMismatch,
    .missingLocalID, .invalidLocalID, .duplicateLocalID, .claimsTooLarge, .invalidClaims, .forbiddenClaim,
    .invalidDuration, .insufficientPermission, .invalidAccessToken, .invalidGrant,
    .configurationNotFound, .configurationExists, .invalidArgument, .internalError,
  ]
}
