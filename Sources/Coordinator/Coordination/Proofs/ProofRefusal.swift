/// Why a proof is not accepted. Each has a code, or a reason beside the code, of its own; see `APIError+proofs.swift`.
enum ProofRefusal: Sendable, Hashable {
  /// There is no such receipt.
  case unknownReceipt
  /// The secret does not belong to the receipt.
  case wrongSecret
  /// Receipt and secret belong together, and to another app.
  case otherApp
  /// They are too old.
  case expired
  /// They were taken back.
  case revoked
  /// The receipt came without its secret.
  /// - Parameter failure: why the push with the secret was not delivered, if that is known.
  case missingSecret(failure: VerificationFailure?)
  /// The reCAPTCHA token was used before.
  case captchaReplayed
  /// reCAPTCHA says no.
  case captchaRefused(VerificationFailure)
  /// reCAPTCHA could not be asked in time.
  case captchaUndecided(VerificationFailure)
}
