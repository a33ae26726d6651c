import CountersignMessages

/// Outcome of a proof, for the metrics.
struct ProofCount: Sendable, Hashable {
  var method: AppVerified.Method
  /// A word in lower case.
  var outcome: String

  init(_ method: AppVerified.Method, _ outcome: String) {
    self.method = method
    self.outcome = outcome
  }
}

extension ProofCount {
  /// Counts a refusal.
  init(_ refusal: ProofRefusal) {
    switch refusal {
    case .unknownReceipt: self.init(.push, "unknown_receipt")
    case .wrongSecret: self.init(.push, "wrong_secret")
    case .otherApp: self.init(.push, "other_app")
    case .expired: self.init(.push, "expired")
    case .revoked: self.init(.push, "revoked")
    case .missingSecret: self.init(.push, "missing_secret")
    case .captchaReplayed: self.init(.recaptcha, "replayed")
    case .captchaRefused: self.init(.recaptcha, "refused")
    case .captchaUndecided: self.init(.recaptcha, "undecided")
    }
  }
}

/// A change of an operation, for the metrics.
struct OperationCount: Sendable, Hashable {
  var kind: OperationKind
  /// Its ending in capitals; `STARTED` at its beginning.
  var ending: String
}
