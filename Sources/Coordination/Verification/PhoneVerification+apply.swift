public import Telemetry

extension PhoneVerification {
  /// Takes what happened and returns what to do, in order. Suspends never, throws never.
  ///
  /// An event that does not fit the state changes nothing: results that come late, twice or in the wrong order are
  /// absorbed here, because a message is reported on once and a final state is left by no event.
  ///
  /// - Parameters:
  ///   - event: what happened.
  ///   - now: the time at which it is applied.
  ///   - policy: the rules in force.
  public mutating func apply(
    _ event: VerificationEvent, at now: UnixTime, under policy: VerificationPolicy
  ) -> [VerificationAction] {
    switch event {
    case .started: start(at: now, under: policy)
    case .startedAgain(let languageCode): startAgain(in: languageCode, at: now, under: policy)
    case .jobFinished(let report): finishMessage(report, at: now)
    case .deliveryReported(let report): finishDelivery(report, at: now)
    case .checkRequested: countCheck(at: now, under: policy)
    case .codeCompared(let matches): conclude(matches: matches, at: now, under: policy)
    case .cancelRequested: cancel(at: now)
    case .codeLost: state.isLive ? fail(.codeLost, at: now) : []
    case .replaced: state.isLive ? expire(at: now) : []
    case .deadlinePassed: expireIfDue(at: now)
    }
  }

  // MARK: Messages

  private mutating func start(at now: UnixTime, under policy: VerificationPolicy) -> [VerificationAction] {
    guard timeline.isEmpty else { return [] }
    note(.started, at: now)
    guard !isTestNumber else { return [.announce(.started), .answerStarted(resent: false)] }
    let send = queueMessage(at: now, under: policy)
    return [.announce(.started), send, .answerStarted(resent: false)]
  }

  private mutating func startAgain(
    in languageCode: String?, at now: UnixTime, under policy: VerificationPolicy
  ) -> [VerificationAction] {
    guard isResendDue(at: now, under: policy) else { return [.answerStarted(resent: false)] }
    if let languageCode { self.languageCode = languageCode }
    // The code goes out again, so it has to stay valid long enough to be typed in.
    expiresAt = min(createdAt + policy.maximumLifetime, max(expiresAt, now + policy.lifetime))
    return [queueMessage(at: now, under: policy), .answerStarted(resent: true)]
  }

  private mutating func queueMessage(at now: UnixTime, under policy: VerificationPolicy) -> VerificationAction {
    messages.append(.outstanding)
    if state == .pending { state = .sending }
    resendAfter = now + policy.gap(afterMessage: messages.count)
    note(.smsQueued, job: messages.count, at: now)
    return .sendMessage(number: messages.count)
  }

  private mutating func finishMessage(_ report: JobReport, at now: UnixTime) -> [VerificationAction] {
    let index = report.number - 1
    guard messages.indices.contains(index), messages[index] == .outstanding else { return [] }
    messages[index] = MessageProgress(report.outcome)
    note(report, at: now)
    // What comes after the end is shown in the timeline, but nobody is told and nothing changes.
    guard state.isLive else { return [] }
    switch report.outcome {
    case .accepted:
      state = .sent
      return [.announce(.sent)]
    case .unknown:
      return []
    case .refused:
      return failUnlessOneMayArrive(report.reason ?? VerificationFailure(code: "REFUSED"), at: now)
    case .expired:
      return failUnlessOneMayArrive(report.reason ?? .notSentInTime, at: now)
    }
  }

  private mutating func failUnlessOneMayArrive(
    _ reason: VerificationFailure, at now: UnixTime
  ) -> [VerificationAction] {
    guard !messages.contains(where: \.mayArrive) else { return [] }
    return fail(reason, at: now)
  }

  // MARK: Checks

  private mutating func countCheck(at now: UnixTime, under policy: VerificationPolicy) -> [VerificationAction] {
    let expiry = expireIfDue(at: now)
    if let refusal = finalRefusal { return expiry + [.refuse(refusal)] }
    guard checks < policy.checksPerCode else {
      return fail(.tooManyAttempts, at: now) + [.refuse(.tooManyAttempts)]
    }
    checks += 1
    return [.compareCode]
  }

  private mutating func conclude(
    matches: Bool, at now: UnixTime, under policy: VerificationPolicy
  ) -> [VerificationAction] {
    guard state.isLive, checks > 0 else { return [] }
    if matches {
      end(.approved, .approved, at: now)
      return [.announce(.approved), .answerApproved]
    }
    note(.wrongCode, at: now)
    guard checks >= policy.checksPerCode else {
      return [.refuse(.wrongCode(checksLeft: policy.checksPerCode - checks))]
    }
    return fail(.tooManyAttempts, at: now) + [.refuse(.tooManyAttempts)]
  }

  // MARK: Ends

  private mutating func cancel(at now: UnixTime) -> [VerificationAction] {
    let expiry = expireIfDue(at: now)
    if state == .canceled { return [.answerCanceled] }
    if let refusal = finalRefusal { return expiry + [.refuse(refusal)] }
    end(.canceled, .canceled, at: now)
    return [.announce(.canceled), .answerCanceled]
  }

  private mutating func expireIfDue(at now: UnixTime) -> [VerificationAction] {
    guard state.isLive, now >= expiresAt else { return [] }
    return expire(at: now)
  }

  private mutating func expire(at now: UnixTime) -> [VerificationAction] {
    end(.expired, .expired, at: now)
    return [.announce(.expired)]
  }

  private mutating func fail(_ reason: VerificationFailure, at now: UnixTime) -> [VerificationAction] {
    failure = reason
    end(.failed, .failed, at: now)
    return [.announce(.failed)]
  }

  private mutating func end(_ state: VerificationState, _ kind: TimelineEntry.Kind, at now: UnixTime) {
    self.state = state
    endedAt = now
    note(kind, at: now)
  }

  /// What a final state says to somebody who checks or cancels.
  private var finalRefusal: VerificationRefusal? {
    switch state {
    case .pending, .sending, .sent: nil
    case .approved: .alreadyUsed
    case .expired: .expired
    case .canceled: .canceled
    case .failed where failure?.code == VerificationFailure.tooManyAttempts.code: .tooManyAttempts
    case .failed: .notSent(failure ?? .notSentInTime)
    }
  }

  // MARK: Timeline

  private mutating func note(_ kind: TimelineEntry.Kind, job: Int? = nil, at now: UnixTime) {
    var entry = TimelineEntry(at: now, kind: kind, job: job)
    if kind == .failed { entry.reason = failure?.code }
    timeline.append(entry)
  }

  private mutating func note(_ report: JobReport, at now: UnixTime) {
    var entry = TimelineEntry(at: now, kind: .init(report.outcome), job: report.number)
    entry.lane = report.lane
    entry.worker = report.worker
    entry.reference = report.reference
    entry.reason = report.reason?.code
    entry.detail = report.reason?.detail
    entry.attempts = report.attempts
    entry.segments = report.segments
    timeline.append(entry)
  }
}

extension PhoneVerification.MessageProgress {
  init(_ outcome: JobReport.Outcome) {
    switch outcome {
    case .accepted: self = .accepted
    case .refused: self = .refused
    case .expired: self = .expired
    case .unknown: self = .unknown
    }
  }
}

extension TimelineEntry.Kind {
  fileprivate init(_ outcome: JobReport.Outcome) {
    switch outcome {
    case .accepted: self = .smsAccepted
    case .refused: self = .smsRefused
    case .expired: self = .smsExpired
    case .unknown: self = .smsUnknown
    }
  }
}
