import CountersignMessages
import CountersignTelemetry

/// A receipt and its secret: what proves that a request comes from an app on a device.
///
/// A plain value without I/O, like ``PhoneVerification``. Neither the secret nor the device token is in it, only what they hash
/// to. It is also an operation: its receipt is the ID under which its timeline is asked for.
struct AppProof: Sendable, Hashable {
  /// See `VerificationID`.
  let receipt: String
  let app: String
  /// Stands for the device token.
  let tokenHash: [UInt8]
  /// The same under the pepper before, where there was one: receipts of the same device that were issued under it are known by it.
  let earlierTokenHash: [UInt8]?
  let environment: PushEnvironment
  let secret: SecretAtRest
  let createdAt: UnixTime

  var state = AppProofState.waiting
  /// The secret is accepted before this time.
  var expiresAt: UnixTime
  var endedAt: UnixTime?
  /// How often the secret was returned.
  var uses = 0
  /// What became of the push.
  var push = PhoneVerification.MessageProgress.outstanding
  /// Why the push was not delivered, or the receipt is not accepted any more.
  var failure: VerificationFailure?
  var timeline = Timeline()

  /// A proof that has not begun: apply ``AppProofEvent/issued`` next.
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

  /// Everything at once, for the store.
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
