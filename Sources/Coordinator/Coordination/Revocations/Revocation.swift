import CountersignMessages
import CountersignTelemetry

/// A token of Sign in with Apple that is being revoked, and the mail that tells its owner.
///
/// ```
/// revoking ──┬──> notifying ──> completed   (the notice may have been refused: see ``ending``)
///            ├──> completed                 (no notice was asked for)
///            └──> failed                    (refused, expired, unknown, lost)
/// ```
///
/// A plain value without I/O. Of the token there is only its hash, by which the same one is known again.
struct Revocation: Sendable, Hashable {
  enum State: String, Sendable, CaseIterable {
    case revoking, notifying, completed, failed

    var isLive: Bool { self == .revoking || self == .notifying }
  }

  /// See `VerificationID`.
  let id: String
  let app: String
  let tokenHash: [UInt8]
  let createdAt: UnixTime
  /// Who is told; forgotten as soon as the mail's job is made.
  var notice: StartRevocation.Notice?
  var state = State.revoking
  /// Until when what is under way may take.
  var expiresAt: UnixTime
  var endedAt: UnixTime?
  var ending: OperationEnding?
  var failure: VerificationFailure?
  var timeline = Timeline()

  /// A revocation that has not begun: apply ``RevocationEvent/started`` next.
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

  /// Everything at once, for the store.
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

  /// Whether asking for the same token again is answered with this one. What failed may be tried again, but for a code that is used
  /// up and lost: Apple would only say that it is invalid, which hides what has happened.
  var isGoodForAll: Bool { state != .failed || ending == .lost }
}

/// What can happen to a revocation.
enum RevocationEvent: Sendable, Hashable {
  /// It begins. The first event, and the only time that this one does anything.
  case started
  /// The revocation worker reported.
  case revokeFinished(JobReport)
  /// The mail worker reported.
  case noticeFinished(JobReport)
  /// Nobody may have reported in time.
  case deadlinePassed
}

/// What the owner of a revocation has to do after an event, in this order.
enum RevocationAction: Sendable, Hashable {
  case revoke
  case notify(StartRevocation.Notice)
  case announceStarted
  case announceCompleted
  case announceFailed
}
