import CountersignMessages
import CountersignTelemetry
import ServiceRuntime

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

/// Rules for revocations. The defaults are those of the configuration.
public struct RevocationPolicy: Sendable, Hashable {
  /// Time that Apple may be unreachable before a revocation is given up. An authorization code expires after five
  /// minutes, but the refresh token that it yields does not.
  public var deadline: Duration
  /// The same for the mail that notifies the owner.
  public var noticeDeadline: Duration
  /// The mail worker's template, if the command names none.
  public var noticeTemplate: String
  /// Time after its end for which a revocation can still be queried, and its token recognized.
  public var retention: Duration

  /// Extra time after its deadline to wait for a worker's report: a job may be in a retry delay of an hour when its
  /// deadline passes.
  static let grace = Duration.seconds(2 * 3600)

  public init(
    deadline: Duration = .seconds(3600), noticeDeadline: Duration = .seconds(86_400),
    noticeTemplate: String = "revocation-notice", retention: Duration = .seconds(30 * 86_400)
  ) {
    self.deadline = deadline
    self.noticeDeadline = noticeDeadline
    self.noticeTemplate = noticeTemplate
    self.retention = retention
  }
}

extension RevocationPolicy {
  /// - Parameter section: the section `revocation`.
  init(_ section: ConfigurationSection) {
    self.init(
      deadline: section.seconds(
        "deadlineSeconds", default: .seconds(3600), in: .seconds(60)...(.seconds(7 * 86_400)),
        "How long Apple may stay out of reach before a revocation is given up."),
      noticeDeadline: section.seconds(
        "noticeDeadlineSeconds", default: .seconds(86_400), in: .seconds(60)...(.seconds(7 * 86_400)),
        "Maximum time for the mail that notifies the owner."),
      noticeTemplate: section.string(
        "noticeTemplate", default: "revocation-notice", "The mail worker's template, where the command names none."),
      retention: section.seconds(
        "retentionSeconds", default: .seconds(30 * 86_400), in: .seconds(600)...(.seconds(365 * 86_400)),
        "How long a revocation that is over can still be asked about, and its token is known."))
  }
}
