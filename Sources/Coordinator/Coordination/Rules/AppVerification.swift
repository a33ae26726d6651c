/// Proof required of a request that claims to come from an app.
public enum AppVerification: String, Sendable, CaseIterable {
  /// None, for testing: only fictional numbers complete.
  case off
  /// None: the requesting service vouches for its client. A proof that is sent all the same is checked.
  case trusted
  /// The receipt and the secret of a push, or reCAPTCHA when the push does not arrive.
  case push
  /// reCAPTCHA.
  case recaptcha
  /// A proof is checked and recorded, and the request is admitted whatever the outcome.
  case audit
}
