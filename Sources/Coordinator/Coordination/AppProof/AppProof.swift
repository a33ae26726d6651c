import CountersignMessages
import CountersignTelemetry
import ServiceRuntime

/// A receipt and its secret, which prove that a request comes from an app on a device.
///
/// A plain value without I/O, like ``PhoneVerification``. It contains hashes of the secret and the device token, not
/// the values. It is also an operation: its receipt is the ID of its timeline.
struct AppProof: Sendable, Hashable {
  /// See ``VerificationID``.
  let receipt: String
  let app: String
  /// Hash of the device token.
  let tokenHash: [UInt8]
  /// Hash of the device token under the previous pepper, if any; it finds receipts that were issued to the device under
  /// that.
  let earlierTokenHash: [UInt8]?
  let environment: PushEnvironment
  let secret: SecretAtRest
  let createdAt: UnixTime

  var state = AppProofState.waiting
  /// The secret is accepted before this time.
  var expiresAt: UnixTime
  var endedAt: UnixTime?
  /// Number of times the secret was returned.
  var uses = 0
  /// Progress of the push.
  var push = PhoneVerification.MessageProgress.outstanding
  /// Reason that the push was not delivered, or that the receipt is no longer accepted.
  var failure: VerificationFailure?
  var timeline = Timeline()

  /// Creates a proof that has not begun: apply ``AppProofEvent/issued`` next.
  init(
    receipt: String, app: String, tokenHash: [UInt8], earlierTokenHash: [UInt8]? = nil,
    environment: PushEnvironment, secret: SecretAtRest,
    at now: UnixTime, under policy: ProofPolicy
  ) {
    self.receipt = receipt
    self.app = app
    self.tokenHash = tokenHash
    self.earlierTokenHash = earlierTokenHash
    self.environment = environment
    self.secret = secret
    createdAt = now
    expiresAt = now + min(policy.credentialLifetime, ProofPolicy.unusedLifetime)
  }

  /// Its device.
  var token: TokenHash { TokenHash(tokenHash, earlier: earlierTokenHash) }
}

/// State of an app's proof.
///
/// ```
/// waiting ──┬──> delivered ────┬──> proven ──┬──> expired
///    │      └──> undelivered ──┤             └──> revoked
///    └─────────────────────────┴──> expired, revoked
/// ```
///
/// A returned secret was received, whatever was reported on the push: so every state that is not final leads to
/// ``proven``.
enum AppProofState: String, Sendable, CaseIterable {
  /// A push was requested, and not reported on yet.
  case waiting
  /// Apple accepted the push.
  case delivered
  /// Apple refused the push, or could not be reached in time.
  case undelivered
  /// The secret was returned. Receipt and secret may be used again.
  case proven
  /// The receipt is too old.
  case expired
  /// The device's token is gone, or the configuration revoked the receipt.
  case revoked

  /// Whether the secret is accepted; all other states are final.
  var isLive: Bool {
    switch self {
    case .waiting, .delivered, .undelivered, .proven: true
    case .expired, .revoked: false
    }
  }
}

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
