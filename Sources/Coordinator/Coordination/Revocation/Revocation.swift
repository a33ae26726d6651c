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

  let id: String
  let app: String
  let tokenHash: [UInt8]
  let createdAt: UnixTime
  /// Forgotten as soon as the mail's job is made.
  var notice: StartRevocation.Notice?
  var state = State.revoking
  var expiresAt: UnixTime
  var endedAt: UnixTime?
  var ending: OperationEnding?
  var failure: VerificationFailure?
  var timeline = Timeline()

  /// Apply ``RevocationEvent/started`` next.
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
  /// except for a used code, whose token is lost or of another subject: Apple would only call it invalid, which hides
  /// the cause.
  var isGoodForAll: Bool { state != .failed || ending == .lost || failure?.code == VerificationFailure.subjectMismatch }
}

enum RevocationEvent: Sendable, Hashable {
  /// The revocation begins. The first event, and effective only once.
  case started
  case revokeFinished(JobReport)
  /// The revocation worker reported that its job takes a retry delay.
  case revokeDelayed(DelayReport)
  case noticeFinished(JobReport)
  /// The mail worker reported that its job takes a retry delay.
  case noticeDelayed(DelayReport)
  /// Apple has told, at the time that it names, that the user's consent is over.
  case confirmed(at: UnixTime)
  /// The deadline may have passed without a report.
  case deadlinePassed
}

/// Actions are taken in order.
enum RevocationAction: Sendable, Hashable {
  case revoke
  case notify(StartRevocation.Notice)
  case announceStarted
  case announceCompleted
  case announceFailed
}

extension Revocation {
  /// Pure: never suspends or throws.
  ///
  /// Each report has an effect once, in the state that it belongs to; later ones only appear in the timeline.
  mutating func apply(_ event: RevocationEvent, at now: UnixTime, under policy: RevocationPolicy) -> [RevocationAction]
  {
    switch event {
    case .started: start(at: now)
    case .revokeFinished(let report): finishRevoke(report, at: now, under: policy)
    case .revokeDelayed(let report): note(report, as: .revokeDelayed, in: .revoking, at: now)
    case .noticeFinished(let report): finishNotice(report, at: now)
    case .noticeDelayed(let report): note(report, as: .noticeDelayed, in: .notifying, at: now)
    case .confirmed(let time): noteConfirmation(of: time, at: now)
    case .deadlinePassed: giveUpIfDue(at: now)
    }
  }

  private mutating func start(at now: UnixTime) -> [RevocationAction] {
    guard timeline.isEmpty else { return [] }
    timeline.append(TimelineEntry(at: now, kind: .started))
    timeline.append(TimelineEntry(at: now, kind: .revokeQueued))
    return [.announceStarted, .revoke]
  }

  private mutating func note(
    _ delay: DelayReport, as kind: TimelineEntry.Kind, in step: State, at now: UnixTime
  ) -> [RevocationAction] {
    if state == step { timeline.note(delay, as: kind, at: now) }
    return []
  }

  // MARK: Revocation

  private mutating func finishRevoke(
    _ report: JobReport, at now: UnixTime, under policy: RevocationPolicy
  ) -> [RevocationAction] {
    let isLaterWord = isLaterWord(report, [.revokeAccepted, .revokeRefused, .revokeExpired], .revokeUnknown)
    guard isLaterWord || !hasNoted([.revokeAccepted, .revokeRefused, .revokeExpired, .revokeUnknown]) else { return [] }
    timeline.append(
      TimelineEntry(
        at: now, report, accepted: .revokeAccepted, refused: .revokeRefused, expired: .revokeExpired,
        unknown: .revokeUnknown))
    // The host that exchanged the code may still revoke the token that another one reported as lost.
    let mayCorrect = ending == .unknown || (ending == .lost && report.outcome == .accepted)
    if isLaterWord, state == .failed, mayCorrect { return correct(report, at: now) }
    guard state == .revoking else { return [] }
    switch report.outcome {
    case .accepted: return revoked(at: now, under: policy)
    case .refused: return fail(.refused, report.reason ?? VerificationFailure(code: "REFUSED"), at: now)
    case .expired: return fail(.expired, report.reason ?? .notReachedInTime, at: now)
    case .unknown:
      let isLost = report.reason?.code == OperationEnding.lost.rawValue
      return fail(isLost ? .lost : .unknown, report.reason ?? .revocationUnknown, at: now)
    }
  }

  /// Whether a worker on another host, with a ledger of its own, now knows an outcome that an earlier report called
  /// unknown.
  private func isLaterWord(_ report: JobReport, _ known: Set<TimelineEntry.Kind>, _ unknown: TimelineEntry.Kind) -> Bool
  {
    (report.outcome == .accepted || report.outcome == .refused) && hasNoted([unknown]) && !hasNoted(known)
  }

  /// The address of the notice is forgotten by then.
  private mutating func correct(_ report: JobReport, at now: UnixTime) -> [RevocationAction] {
    if report.outcome == .accepted { return complete(.revoked, nil, at: now) }
    // The event of the failure is already published, and its ID is used once.
    end(.failed, .refused, report.reason ?? VerificationFailure(code: "REFUSED"), .failed, at: now)
    return []
  }

  /// Changes no outcome: a word about the user is none about the token. It is none about one that Apple did not get, or
  /// that it refused.
  private mutating func noteConfirmation(of time: UnixTime, at now: UnixTime) -> [RevocationAction] {
    let mayBeRevoked = state != .failed || ending == .unknown || ending == .lost
    guard mayBeRevoked, time + RevocationPolicy.skew >= createdAt, !hasNoted([.revokeConfirmed]) else { return [] }
    timeline.append(
      TimelineEntry(at: now, kind: .revokeConfirmed, reason: nil, detail: "by Apple at \(time.rfc3339)"))
    return []
  }

  private mutating func revoked(at now: UnixTime, under policy: RevocationPolicy) -> [RevocationAction] {
    guard let notice else { return complete(.revoked, nil, at: now) }
    self.notice = nil
    state = .notifying
    expiresAt = now + policy.noticeDeadline
    timeline.append(TimelineEntry(at: now, kind: .noticeQueued))
    return [.notify(notice)]
  }

  // MARK: Notice

  private mutating func finishNotice(_ report: JobReport, at now: UnixTime) -> [RevocationAction] {
    let isLaterWord = isLaterWord(report, [.noticeAccepted, .noticeRefused, .noticeExpired], .noticeUnknown)
    guard hasNoted([.noticeQueued]),
      isLaterWord || !hasNoted([.noticeAccepted, .noticeRefused, .noticeExpired, .noticeUnknown])
    else { return [] }
    timeline.append(
      TimelineEntry(
        at: now, report, accepted: .noticeAccepted, refused: .noticeRefused, expired: .noticeExpired,
        unknown: .noticeUnknown))
    if isLaterWord, ending == .revokedNoticeUnknown {
      // The event is already published, and its ID is used once.
      ending = report.outcome == .accepted ? .revokedAndNotified : .revokedNoticeRefused
      failure = report.outcome == .accepted ? nil : report.reason ?? VerificationFailure(code: "REFUSED")
      return []
    }
    guard state == .notifying else { return [] }
    switch report.outcome {
    case .accepted: return complete(.revokedAndNotified, nil, at: now)
    case .refused:
      return complete(.revokedNoticeRefused, report.reason ?? VerificationFailure(code: "REFUSED"), at: now)
    case .expired: return complete(.revokedNoticeExpired, report.reason ?? .noticeNotSentInTime, at: now)
    case .unknown: return complete(.revokedNoticeUnknown, report.reason ?? .noticeUnknown, at: now)
    }
  }

  // MARK: Ends

  private mutating func giveUpIfDue(at now: UnixTime) -> [RevocationAction] {
    guard state.isLive, now >= expiresAt + RevocationPolicy.grace else { return [] }
    return state == .revoking ? fail(.unknown, .noReport, at: now) : complete(.revokedNoticeUnknown, .noReport, at: now)
  }

  private mutating func complete(
    _ ending: OperationEnding, _ failure: VerificationFailure?, at now: UnixTime
  ) -> [RevocationAction] {
    end(.completed, ending, failure, .completed, at: now)
    return [.announceCompleted]
  }

  private mutating func fail(
    _ ending: OperationEnding, _ failure: VerificationFailure, at now: UnixTime
  ) -> [RevocationAction] {
    end(.failed, ending, failure, .failed, at: now)
    return [.announceFailed]
  }

  private mutating func end(
    _ state: State, _ ending: OperationEnding, _ failure: VerificationFailure?, _ kind: TimelineEntry.Kind,
    at now: UnixTime
  ) {
    self.state = state
    self.ending = ending
    self.failure = failure
    notice = nil
    endedAt = now
    timeline.append(TimelineEntry(at: now, kind: kind, reason: ending.rawValue))
  }

  private func hasNoted(_ kinds: Set<TimelineEntry.Kind>) -> Bool {
    timeline.entries.contains { kinds.contains($0.kind) }
  }
}

extension VerificationFailure {
  /// Code of the worker.
  fileprivate static let subjectMismatch = "SUBJECT_MISMATCH"
  fileprivate static let notReachedInTime = VerificationFailure(
    code: "NOT_REVOKED_IN_TIME", detail: "Apple was not reached in time: the token is as it was")
  fileprivate static let revocationUnknown = VerificationFailure(
    code: "UNKNOWN", detail: "it is unknown whether the token is revoked: revoking it again is safe")
  fileprivate static let noticeUnknown = VerificationFailure(
    code: "UNKNOWN", detail: "it is unknown whether the notice was sent")
  fileprivate static let noReport = VerificationFailure(
    code: "NO_REPORT", detail: "no worker reported in time: look at the dead letters")
  fileprivate static let noticeNotSentInTime = VerificationFailure(
    code: "NOT_SENT_IN_TIME", detail: "the notice could not be sent in time")
}

/// Rules for revocations. The defaults are those of the configuration.
public struct RevocationPolicy: Sendable, Hashable {
  /// Time that Apple may be unreachable before a revocation is given up. An authorization code expires after five
  /// minutes, but the refresh token that it yields does not.
  var deadline = Duration.seconds(3600)
  /// The same for the mail that notifies the owner.
  var noticeDeadline = Duration.seconds(86_400)
  var noticeTemplate = "revocation-notice"
  /// Time after its end for which a revocation can still be queried, and its token recognized.
  var retention = Duration.seconds(30 * 86_400)

  /// Extra time after its deadline to wait for a worker's report: a job may be in a retry delay of an hour when its
  /// deadline passes.
  static let grace = Duration.seconds(2 * 3600)
  /// Maximum difference between Apple's clock and ours: what Apple tells of an earlier time is about something else.
  static let skew = Duration.seconds(60)
}

extension RevocationPolicy {
  init(_ section: ConfigurationSection) {
    self.init()
    deadline = section.seconds(
      "deadlineSeconds", default: deadline, in: .seconds(60)...(.seconds(7 * 86_400)),
      "How long Apple may stay out of reach before a revocation is given up.")
    noticeDeadline = section.seconds(
      "noticeDeadlineSeconds", default: noticeDeadline, in: .seconds(60)...(.seconds(7 * 86_400)),
      "Maximum time for the mail that notifies the owner.")
    noticeTemplate = section.string(
      "noticeTemplate", default: noticeTemplate, "The mail worker's template, where the command names none.")
    retention = section.seconds(
      "retentionSeconds", default: retention, in: .seconds(600)...(.seconds(365 * 86_400)),
      "How long a revocation that is over can still be asked about, and its token is known.")
  }
}
