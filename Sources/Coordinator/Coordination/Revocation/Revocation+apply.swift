import CountersignMessages
import CountersignTelemetry

extension Revocation {
  /// Applies an event and returns the actions to take, in order. Pure: never suspends or throws.
  ///
  /// Each report has an effect once, in the state that it belongs to; later ones only appear in the timeline.
  mutating func apply(_ event: RevocationEvent, at now: UnixTime, under policy: RevocationPolicy) -> [RevocationAction]
  {
    switch event {
    case .started: start(at: now)
    case .revokeFinished(let report): finishRevoke(report, at: now, under: policy)
    case .noticeFinished(let report): finishNotice(report, at: now)
    case .deadlinePassed: giveUpIfDue(at: now)
    }
  }

  private mutating func start(at now: UnixTime) -> [RevocationAction] {
    guard timeline.isEmpty else { return [] }
    timeline.append(TimelineEntry(at: now, kind: .started))
    timeline.append(TimelineEntry(at: now, kind: .revokeQueued))
    return [.announceStarted, .revoke]
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

  /// Replaces an unknown outcome by a known one. The address of the notice is forgotten by then.
  private mutating func correct(_ report: JobReport, at now: UnixTime) -> [RevocationAction] {
    if report.outcome == .accepted { return complete(.revoked, nil, at: now) }
    // The event of the failure is already published, and its ID is used once.
    end(.failed, .refused, report.reason ?? VerificationFailure(code: "REFUSED"), .failed, at: now)
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
