/// Rules for proofs of apps. The defaults are those of the configuration.
public struct ProofPolicy: Sendable, Hashable {
  /// Lifetime of a receipt and its secret after their first use: apps keep them and use them many times.
  public var credentialLifetime: Duration
  /// Suggested time for an app to wait for a push.
  public var suggestedTimeout: Duration
  /// Time after which a push is no longer sent. An app keeps a late one for its next request.
  public var pushDeadline: Duration
  /// Time without pushes to a device token that Apple has refused.
  public var refusedTokenMemory: Duration
  /// Maximum time for the assessment of a reCAPTCHA token.
  public var assessmentTimeout: Duration

  /// Lifetime of a receipt whose secret was never returned.
  public static let unusedLifetime = Duration.seconds(86_400)

  public init(
    credentialLifetime: Duration = .seconds(7 * 86_400), suggestedTimeout: Duration = .seconds(10),
    pushDeadline: Duration = .seconds(60), refusedTokenMemory: Duration = .seconds(3600),
    assessmentTimeout: Duration = .seconds(10)
  ) {
    self.credentialLifetime = credentialLifetime
    self.suggestedTimeout = suggestedTimeout
    self.pushDeadline = pushDeadline
    self.refusedTokenMemory = refusedTokenMemory
    self.assessmentTimeout = assessmentTimeout
  }
}
