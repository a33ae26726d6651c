import CountersignMessages
import CountersignTelemetry

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

  /// Creates a proof from all its fields, for the store.
  init(
    receipt: String, app: String, tokenHash: [UInt8], earlierTokenHash: [UInt8]?, environment: PushEnvironment,
    secret: SecretAtRest, createdAt: UnixTime, state: AppProofState, expiresAt: UnixTime, endedAt: UnixTime?, uses: Int,
    push: PhoneVerification.MessageProgress, failure: VerificationFailure?, timeline: Timeline
  ) {
    self.receipt = receipt
    self.app = app
    self.tokenHash = tokenHash
    self.earlierTokenHash = earlierTokenHash
    self.environment = environment
    self.secret = secret
    self.createdAt = createdAt
    self.state = state
    self.expiresAt = expiresAt
    self.endedAt = endedAt
    self.uses = uses
    self.push = push
    self.failure = failure
    self.timeline = timeline
  }

  /// Its device.
  var token: TokenHash { TokenHash(tokenHash, earlier: earlierTokenHash) }
}
