import CountersignMessages

/// Reason that a proof is not accepted. Each has its own error code, or its own reason next to the code; see
/// `APIError.init(_:)`.
enum ProofRefusal: Error, Hashable {
  /// The receipt does not exist.
  case unknownReceipt
  /// The secret does not belong to the receipt.
  case wrongSecret
  /// Receipt and secret belong together, but to another app.
  case otherApp
  /// The receipt is too old.
  case expired
  /// The receipt was revoked.
  case revoked
  /// The receipt came without its secret.
  /// - Parameter failure: reason that the push with the secret was not delivered, if known.
  case missingSecret(failure: VerificationFailure?)
  /// The reCAPTCHA token was used before.
  case captchaReplayed
  /// reCAPTCHA rejected the token.
  case captchaRefused(VerificationFailure)
  /// reCAPTCHA could not be reached in time.
  case captchaUndecided(VerificationFailure)
}

// Maps refused proofs to error codes. On INVALID_APP_CREDENTIAL an app SDK clears its pair and requests a new one,
// once; it falls back to reCAPTCHA when `app.verify` is answered with that or with MISSING_IOS_APP_TOKEN. So all cases
// that a new pair would fix share that code, and differ in `reason`. The table is in docs/messages.md.
extension APIError {
  /// Answers a start whose proof is not accepted.
  init(_ refusal: ProofRefusal) {
    switch refusal {
    case .unknownReceipt:
      self.init(
        .invalidAppCredential, "there is no such receipt: send app.verify, and give back its receipt with the secret",
        field: "proof.receipt", reason: "UNKNOWN_RECEIPT")
    case .wrongSecret:
      self.init(
        .invalidAppCredential, "the secret is not that of the receipt: send app.verify for a new pair",
        field: "proof.secret", reason: "WRONG_SECRET")
    case .expired:
      self.init(
        .invalidAppCredential, "the receipt is too old: send app.verify for a new one", field: "proof.receipt",
        reason: "RECEIPT_EXPIRED")
    case .revoked:
      self.init(
        .invalidAppCredential, "the receipt was taken back: send app.verify for a new one", field: "proof.receipt",
        reason: "RECEIPT_REVOKED")
    case .otherApp:
      self.init(
        .appNotVerified, "receipt and secret were issued to another app: send app.verify for this one",
        field: "proof.receipt", reason: "OTHER_APP")
    case .missingSecret(let failure):
      self = .missingSecret(failure)
    case .captchaReplayed:
      self.init(
        .captchaCheckFailed, "the reCAPTCHA token was used before, and is good for one request: get a new one",
        field: "proof.recaptchaToken", reason: "CAPTCHA_REPLAYED")
    case .captchaRefused(let failure):
      self.init(
        .captchaCheckFailed, "reCAPTCHA refuses the request (\(failure.code)): get a new token",
        field: "proof.recaptchaToken", reason: failure.code)
    case .captchaUndecided(let failure):
      self.init(
        .appNotVerified, "reCAPTCHA could not be asked (\(failure.code)): get a new token and try again",
        field: "proof.recaptchaToken", retryAfter: 5, reason: "CAPTCHA_UNDECIDED")
    }
  }

  private static func missingSecret(_ failure: VerificationFailure?) -> APIError {
    guard let failure else {
      return APIError(
        .missingAppCredential, "receipt and secret belong together: give both, or a recaptchaToken", field: "proof")
    }
    return APIError(
      .missingAppCredential,
      "the push with the secret was not delivered (\(failure.code)), so it will not come: give a recaptchaToken",
      field: "proof.secret", reason: failure.code)
  }

  static let missingProof = APIError(
    .missingClientIdentifier,
    "there is no proof that the request comes from the app: give receipt and secret of app.verify, or a recaptchaToken",
    field: "proof")
  static let pushNotOffered = APIError(
    .invalidAppCredential, "this app is not verified by push: give a recaptchaToken", reason: "PUSH_NOT_OFFERED")
  static let missingDeviceToken = APIError(
    .missingIOSAppToken, "there is no device token: fall back to reCAPTCHA", field: "deviceToken")
  static let malformedDeviceToken = APIError(
    .invalidAppCredential,
    "the device token is none: give the bytes that the device got from Apple in hexadecimal, or fall back to reCAPTCHA",
    field: "deviceToken", reason: "MALFORMED_TOKEN")
  static let missingReplyTo = APIError(
    .invalidArgument, "reply_to is missing: the receipt could not be returned", field: "reply_to")

  /// Answers `app.verify` for a device token that Apple has recently refused.
  init(refusedToken failure: VerificationFailure) {
    let isGone = failure.code == PushFailure.unregistered
    self.init(
      isGone ? .missingIOSAppToken : .invalidAppCredential,
      "Apple refused pushes to this device token lately (\(failure.code)): fall back to reCAPTCHA",
      field: "deviceToken", reason: failure.code)
  }
}

extension ProofRefusal {
  /// Method and outcome under which it is counted.
  var countedAs: (AppVerified.Method, String) {
    switch self {
    case .unknownReceipt: (.push, "unknown_receipt")
    case .wrongSecret: (.push, "wrong_secret")
    case .otherApp: (.push, "other_app")
    case .expired: (.push, "expired")
    case .revoked: (.push, "revoked")
    case .missingSecret: (.push, "missing_secret")
    case .captchaReplayed: (.recaptcha, "replayed")
    case .captchaRefused: (.recaptcha, "refused")
    case .captchaUndecided: (.recaptcha, "undecided")
    }
  }
}
