/// Reason that a proof is not accepted. Each has its own error code, or its own reason next to the code; see
/// `APIError+proofs.swift`.
enum ProofRefusal: Sendable, Hashable {
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
