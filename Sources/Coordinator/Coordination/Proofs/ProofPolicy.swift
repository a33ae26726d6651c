/// The rules that proofs of apps live under. The defaults are those of the configuration.
public struct ProofPolicy: Sendable, Hashable {
  /// How long a receipt and its secret may be used, once they have been: apps keep them and use them many times.
  public var credentialLifetime: Duration
  /// How long an app had better wait for a push.
  public var suggestedTimeout: Duration
  /// How long a push is worth sending: one that comes late is kept by the app for the next time.
  public var pushDeadline: Duration
  /// How long a device token that Apple has refused is not pushed to.
  public var refusedTokenMemory: Duration
  /// How long the assessment of a reCAPTCHA token may take.
  public var assessmentTimeout: Duration

  /// How long a receipt lives whose secret was never returned.
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
