/// What went wrong with a command: the codes that app SDKs of this field already map. More may come.
public struct APIErrorCode: OpenWord {
  public let rawValue: String

  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// The phone number is none, or of a kind that gets no message.
  public static let invalidPhoneNumber = APIErrorCode(rawValue: "INVALID_PHONE_NUMBER")
  /// There is no phone number.
  public static let missingPhoneNumber = APIErrorCode(rawValue: "MISSING_PHONE_NUMBER")
  /// A budget is used up.
  public static let quotaExceeded = APIErrorCode(rawValue: "QUOTA_EXCEEDED")
  /// Too much was asked for in too short a time.
  public static let tooManyAttempts = APIErrorCode(rawValue: "TOO_MANY_ATTEMPTS_TRY_LATER")
  /// There is no proof of the app.
  public static let missingClientIdentifier = APIErrorCode(rawValue: "MISSING_CLIENT_IDENTIFIER")
  /// The receipt and the secret do not belong together, or are too old.
  public static let invalidAppCredential = APIErrorCode(rawValue: "INVALID_APP_CREDENTIAL")
  /// The receipt or the secret is missing.
  public static let missingAppCredential = APIErrorCode(rawValue: "MISSING_APP_CREDENTIAL")
  /// There is no device token.
  public static let missingIOSAppToken = APIErrorCode(rawValue: "MISSING_IOS_APP_TOKEN")
  /// reCAPTCHA took the caller for a machine.
  public static let captchaCheckFailed = APIErrorCode(rawValue: "CAPTCHA_CHECK_FAILED")
  /// The request could not be proven to come from the app.
  public static let appNotVerified = APIErrorCode(rawValue: "APP_NOT_VERIFIED")
  /// There is no such verification.
  public static let invalidSessionInfo = APIErrorCode(rawValue: "INVALID_SESSION_INFO")
  /// The code is wrong.
  public static let invalidCode = APIErrorCode(rawValue: "INVALID_CODE")
  /// The verification is over: its time ran out, its code was used, or it was cancelled.
  public static let sessionExpired = APIErrorCode(rawValue: "SESSION_EXPIRED")
  /// The configuration forbids it: the region, the app.
  public static let operationNotAllowed = APIErrorCode(rawValue: "OPERATION_NOT_ALLOWED")
  /// The command breaks the contract.
  public static let invalidArgument = APIErrorCode(rawValue: "INVALID_ARGUMENT")
  /// Not the caller's fault.
  public static let internalError = APIErrorCode(rawValue: "INTERNAL_ERROR")

  public static let known: [APIErrorCode] = [
    .invalidPhoneNumber, .missingPhoneNumber, .quotaExceeded, .tooManyAttempts, .missingClientIdentifier,
    .invalidAppCredential, .missingAppCredential, .missingIOSAppToken, .captchaCheckFailed, .appNotVerified,
    .invalidSessionInfo, .invalidCode, .sessionExpired, .operationNotAllowed, .invalidArgument, .internalError,
  ]
}
