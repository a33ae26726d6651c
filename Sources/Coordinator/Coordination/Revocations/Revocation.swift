import CountersignMessages
import CountersignTelemetry

/// A token of Sign in with Apple under revocation, and the mail that notifies its owner.
///
/// ```
/// revoking ──┬──> notifying ──> completed   (the notice may have been refused: see ``ending``)
///            ├──> completed                 (without a notice)
///            └──> failed                    (refused, expired, unknown, lost)
/// ```
///
/// A plain value without I/O. Of the token it holds only the hash, which recognizes it.
struct Revocation: Sendable, Hashable {
  enum State: String, Sendable, CaseIterable {
    case revoking, notifying, completed, failed

    var isLive: Bool { self == .revoking || self == .notifying }
  }

  /// See ``VerificationID``.
  let id: String
  let app: String
  let tokenHash: [UInt8]
  let createdAt: UnixTime
  /// Recipient of the notice; forgotten as soon as the mail's job is made.
  var notice: StartRevocation.Notice?
  var state = State.revoking
  /// Deadline of the current step.
  var expiresAt: UnixTime
  var endedAt: UnixTime?
  var ending: OperationEnding?
  var failure: VerificationFailure?
  var timeline = Timeline()

  /// Creates a revocation that has not begun: apply ``RevocationEvent/started`` next.
  init(
    id: String, app: String, tokenHash: [UInt8], notice: StartRevocation.Notice?, at now: UnixTime,
    under policy: RevocationPolicy
  ) {
    self.id = id
    self.app = app
    self.tokenHash = tokenHash
    self.notice = notice
    createdAt = now
    expiresAt = now + policy.deadline
  }

  /// Creates a revocation from all its fields, for the store.
  init(
    id: String, app: String, tokenHash: [UInt8], createdAt: UnixTime, notice: StartRevocation.Notice?, state: State,
    expiresAt: UnixTime, endedAt: UnixTime?, ending: OperationEnding?, failure: VerificationFailure?,
    timeline: Timeline
  ) {
    self.id = id
    self.app = app
    self.tokenHash = tokenHash
    self.createdAt = createdAt
    self.notice = notice
    self.state = state
    self.expiresAt = expiresAt
    self.endedAt = endedAt
    self.ending = ending
    self.failure = failure
    self.timeline = timeline
  }

  /// Whether a further request for the same token is answered with this revocation. A failed one may be tried again,
  /// except for a used code whose token is lost: Apple would only call it invalid, which hides the cause.
  var isGoodForAll: Bool { state != .failed || ending == .lost }
}

/// Event in the life of a revocation.
enum RevocationEvent: Sendable, Hashable {
  /// The revocation begins. The first event, and effective only once.
  case started
  /// The revocation worker reported.
  case revokeFinished(JobReport)
  /// The mail worker reported.
  case noticeFinished(JobReport)
  /// The deadline may have passed without a report.
  case deadlinePassed
}

/// Action of the owner of a revocation after an event; actions are taken in order.
enum RevocationAction: Sendable, Hashable {
  case revoke
  case notify(StartRevocation.Notice)
  case announceStarted
  case announceCompleted
  case announceFailed
}
