import ServiceRuntime

extension ProofPolicy {
  /// - Parameter section: the section `proof`.
  init(_ section: ConfigurationSection) {
    self.init(
      credentialLifetime: section.seconds(
        "receiptLifetimeSeconds", default: .seconds(7 * 86_400), in: .seconds(60)...(.seconds(365 * 86_400)),
        "How long a receipt and its secret, which apps keep, are accepted."),
      suggestedTimeout: section.seconds(
        "suggestedTimeoutSeconds", default: .seconds(10), in: .seconds(1)...(.seconds(60)),
        "How long an app waits for a push before it falls back to reCAPTCHA."),
      pushDeadline: section.seconds(
        "pushDeadlineSeconds", default: .seconds(60), in: .seconds(1)...(.seconds(3600)),
        "How long a push is worth sending: one that comes late is kept by the app for the next time."),
      refusedTokenMemory: section.seconds(
        "refusedTokenSeconds", default: .seconds(3600), in: .zero...(.seconds(30 * 86_400)),
        "How long a device token that Apple has refused is answered with an error at once."),
      assessmentTimeout: section.seconds(
        "assessmentTimeoutSeconds", default: .seconds(10), in: .seconds(1)...(.seconds(120)),
        "How long the assessment of a reCAPTCHA token may take."))
    if pushDeadline < suggestedTimeout {
      section.problem("pushDeadlineSeconds", "must not be below suggestedTimeoutSeconds")
    }
  }
}
