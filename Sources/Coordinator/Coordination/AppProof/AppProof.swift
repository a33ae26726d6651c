import CountersignMessages
import CountersignTelemetry
import ServiceRuntime

/// A receipt and its secret, which prove that a request comes from an app on a device.
///
/// A plain value without I/O, like ``PhoneVerification``. It contains hashes of the secret and the device token, not
/// the values. It is also an operation: its receipt is the ID of its timeline.
struct AppProof: Sendable, Hashable {
  let receipt: String
  let app: String
  let tokenHash: [UInt8]
  /// Hash of the device token under the previous pepper, if any. It finds receipts that were issued to the device under
  /// that.
  let earlierTokenHash: [UInt8]?
  let environment: PushEnvironment
  let secret: SecretAtRest
  let createdAt: UnixTime
  /// Whether it was counted for the address of its client, and so need not count for its app when its device token is
  /// wrong.
  var isOfKnownAddress = false

  var state = AppProofState.waiting
  var expiresAt: UnixTime
  var endedAt: UnixTime?
  var uses = 0
  var push = PhoneVerification.MessageProgress.outstanding
  var failure: VerificationFailure?
  var timeline = Timeline()

  /// Apply ``AppProofEvent/issued`` next.
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

  var token: TokenHash { TokenHash(current: tokenHash, earlier: earlierTokenHash) }
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
  case delivered
  /// Apple refused the push, or could not be reached in time.
  case undelivered
  /// The secret was returned. Receipt and secret may be used again.
  case proven
  case expired
  /// The device's token is gone, or the configuration revoked the receipt.
  case revoked

  var isLive: Bool {
    switch self {
    case .waiting, .delivered, .undelivered, .proven: true
    case .expired, .revoked: false
    }
  }
}

extension AppProof {
  /// Pure: never suspends or throws.
  ///
  /// An event that does not fit the state changes nothing: a push is reported on once, and no event leaves a final
  /// state.
  mutating func apply(_ event: AppProofEvent, at now: UnixTime, under policy: ProofPolicy) -> [AppProofAction] {
    switch event {
    case .issued: issue(at: now)
    case .pushFinished(let report): finishPush(report, at: now)
    case .secretReturned(let matches, let app): conclude(matches: matches, app: app, at: now, under: policy)
    case .tokenUnregistered: revoke(.tokenGone, at: now)
    case .withdrawn(let time): createdAt < time ? revoke(.withdrawn, at: now) : []
    case .deadlinePassed: expireIfDue(at: now)
    }
  }

  private mutating func issue(at now: UnixTime) -> [AppProofAction] {
    guard timeline.isEmpty else { return [] }
    timeline.append(TimelineEntry(at: now, kind: .started))
    timeline.append(TimelineEntry(at: now, kind: .pushQueued))
    return [.push]
  }

  // MARK: Push

  private mutating func finishPush(_ report: PushReport, at now: UnixTime) -> [AppProofAction] {
    guard push.takes(report.report.outcome) else { return [] }
    push = PhoneVerification.MessageProgress(report.report.outcome)
    note(report, at: now)
    switch report.report.outcome {
    case .accepted:
      if state == .waiting { state = .delivered }
      return [.forgetRefusal]
    case .unknown:
      // It may still arrive: the app waits for as long as the reply said.
      return []
    case .refused, .expired:
      return undelivered(report.report.reason ?? VerificationFailure(code: "NOT_PUSHED_IN_TIME"))
    }
  }

  private mutating func undelivered(_ reason: VerificationFailure) -> [AppProofAction] {
    var actions: [AppProofAction] = []
    if state == .waiting {
      state = .undelivered
      failure = reason
      actions.append(.announceUnverified(reason))
    }
    guard push == .refused else { return actions }
    if PushFailure.lies(inToken: reason.code) { actions.append(.rememberRefusal(reason)) }
    if reason.code == PushFailure.unregistered { actions.append(.revokeAllOfToken) }
    return actions
  }

  // MARK: Secret

  /// The order matters: a caller without the secret only learns that the receipt is not theirs.
  private mutating func conclude(
    matches: Bool, app: String, at now: UnixTime, under policy: ProofPolicy
  ) -> [AppProofAction] {
    guard matches else {
      timeline.append(TimelineEntry(at: now, kind: .proofRefused, reason: "WRONG_SECRET"))
      return [.refuse(.wrongSecret)]
    }
    guard app == self.app else {
      timeline.append(TimelineEntry(at: now, kind: .proofRefused, reason: "OTHER_APP"))
      return [.refuse(.otherApp)]
    }
    _ = expireIfDue(at: now)
    switch state {
    case .expired: return [.refuse(.expired)]
    case .revoked: return [.refuse(.revoked)]
    case .waiting, .delivered, .undelivered, .proven: return admit(at: now, under: policy)
    }
  }

  private mutating func admit(at now: UnixTime, under policy: ProofPolicy) -> [AppProofAction] {
    uses += 1
    guard state != .proven else { return [.admit] }
    state = .proven
    failure = nil
    expiresAt = createdAt + policy.credentialLifetime
    timeline.append(TimelineEntry(at: now, kind: .proofAccepted))
    return [.announceVerified, .admit]
  }

  // MARK: Ends

  private mutating func revoke(_ reason: VerificationFailure, at now: UnixTime) -> [AppProofAction] {
    guard state.isLive else { return [] }
    failure = failure ?? reason
    end(.revoked, .revoked, at: now)
    return []
  }

  private mutating func expireIfDue(at now: UnixTime) -> [AppProofAction] {
    guard state.isLive, now >= expiresAt else { return [] }
    end(.expired, .expired, at: now)
    return []
  }

  private mutating func end(_ state: AppProofState, _ kind: TimelineEntry.Kind, at now: UnixTime) {
    self.state = state
    endedAt = now
    timeline.append(TimelineEntry(at: now, kind: kind, reason: state == .revoked ? failure?.code : nil))
  }

  private mutating func note(_ report: PushReport, at now: UnixTime) {
    var entry = TimelineEntry(
      at: now, report.report, accepted: .pushAccepted, refused: .pushRefused, expired: .pushExpired,
      unknown: .pushUnknown)
    if let environment = report.environment, entry.detail == nil { entry.detail = environment }
    timeline.append(entry)
  }
}

extension VerificationFailure {
  fileprivate static let tokenGone = VerificationFailure(
    code: PushFailure.unregistered, detail: "Apple says that the device token is no longer registered")
  fileprivate static let withdrawn = VerificationFailure(
    code: "WITHDRAWN", detail: "the configuration takes back what was issued by then")
}

enum AppProofEvent: Sendable, Hashable {
  /// The receipt is issued. The first event, and effective only once.
  case issued
  case pushFinished(PushReport)
  /// A caller returned the receipt with a secret, which was compared.
  case secretReturned(matches: Bool, app: String)
  /// Apple reported the device's token as unregistered.
  case tokenUnregistered
  /// The configuration revokes all receipts issued before a time.
  case withdrawn(issuedBefore: UnixTime)
  /// The deadline may have passed.
  case deadlinePassed
}

struct PushReport: Sendable, Hashable {
  var report: JobReport
  /// The Apple service that accepted it: `sandbox` or `production`.
  var environment: String?
}

/// Actions are taken in order.
enum AppProofAction: Sendable, Hashable {
  /// Push the secret, once the reply with the receipt is out.
  case push
  case announceVerified
  /// Announce that the secret will not arrive.
  case announceUnverified(VerificationFailure)
  /// Do not push to this device token for a while.
  case rememberRefusal(VerificationFailure)
  /// Pushes reach this device token again.
  case forgetRefusal
  case revokeAllOfToken
  /// Accept the request: it comes from the app.
  case admit
  /// Refuse the request: it does not come from the app, or that is uncertain.
  case refuse(ProofRefusal)
}

enum PushFailure {
  /// The app was removed from the device, or has another token.
  static let unregistered = "UNREGISTERED"

  /// Reasons in the device token or in the app's statements about it: a further push to it would fail in the same way.
  private static let ofToken: Set = [unregistered, "BAD_DEVICE_TOKEN", "WRONG_ENVIRONMENT", "WRONG_TOPIC"]

  static func lies(inToken code: String) -> Bool {
    ofToken.contains(code)
  }
}

/// Rules for proofs of apps. The defaults are those of the configuration.
public struct ProofPolicy: Sendable, Hashable {
  /// Lifetime of a receipt and its secret after their first use: apps keep them and use them many times.
  var credentialLifetime = Duration.seconds(7 * 86_400)
  var suggestedTimeout = Duration.seconds(10)
  /// Time after which a push is no longer sent. An app keeps a late one for its next request.
  var pushDeadline = Duration.seconds(60)
  var refusedTokenMemory = Duration.seconds(3600)
  var assessmentTimeout = Duration.seconds(10)

  /// Lifetime of a receipt whose secret was never returned.
  static let unusedLifetime = Duration.seconds(86_400)
}

extension ProofPolicy {
  init(_ section: ConfigurationSection) {
    self.init()
    credentialLifetime = section.seconds(
      "receiptLifetimeSeconds", default: credentialLifetime, in: .seconds(60)...(.seconds(365 * 86_400)),
      "How long a receipt and its secret, which apps keep, are accepted.")
    suggestedTimeout = section.seconds(
      "suggestedTimeoutSeconds", default: suggestedTimeout, in: .seconds(1)...(.seconds(60)),
      "How long an app waits for a push before it falls back to reCAPTCHA.")
    pushDeadline = section.seconds(
      "pushDeadlineSeconds", default: pushDeadline, in: .seconds(1)...(.seconds(3600)),
      "How long a push is worth sending: one that comes late is kept by the app for the next time.")
    refusedTokenMemory = section.seconds(
      "refusedTokenSeconds", default: refusedTokenMemory, in: .zero...(.seconds(30 * 86_400)),
      "How long a device token that Apple has refused is answered with an error at once.")
    assessmentTimeout = section.seconds(
      "assessmentTimeoutSeconds", default: assessmentTimeout, in: .seconds(1)...(.seconds(120)),
      "How long the assessment of a reCAPTCHA token may take.")
    if pushDeadline < suggestedTimeout {
      section.problem("pushDeadlineSeconds", "must not be below suggestedTimeoutSeconds")
    }
  }
}
