/// How a request is proven to come from an app.
public enum AppVerification: String, Sendable, CaseIterable {
  /// Not at all, for testing: only fictional numbers complete.
  case off
  /// The service that asks vouches for its client. A proof that is given all the same is checked.
  case trusted
  /// By the receipt and the secret of a push, or by reCAPTCHA where the push does not come.
  case push
  /// By reCAPTCHA.
  case recaptcha
  /// A proof is checked and recorded, and the request let through whatever comes of it.
  case audit

  /// Whether a request needs a proof.
  var needsProof: Bool { self == .push || self == .recaptcha }
}
