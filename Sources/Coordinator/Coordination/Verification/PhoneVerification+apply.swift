import CommandEngine
import CountersignTelemetry

extension PhoneVerification {
  /// Pure: never suspends or throws.
  ///
  /// An event that does not fit the state changes nothing. This absorbs late, repeated and reordered results, because
  /// an SMS is reported on once and no event leaves a final state.
  mutating func apply(
    _ event: VerificationEvent, through handle: Int = firstHandle, at now: UnixTime, under policy: VerificationPolicy
  ) -> [VerificationAction] {
    switch event {
    case .started: start(at: now, under: policy)
    case .startedAgain(let languageCode): startAgain(handle, in: languageCode, at: now, under: policy)
    case .joined(let new, let sends, let languageCode):
      join(new, sends: sends, in: languageCode, at: now, under: policy)
    case .reopened(let sends, let languageCode): reopen(handle, sends: sends, in: languageCode, at: now, under: policy)
    case .jobFinished(let report): finishMessage(report, at: now)
    case .jobDelayed(let report): noteDelay(report, at: now)
    case .deliveryReported(let report): finishDelivery(report, at: now)
    case .checkRequested: countCheck(handle, at: now, under: policy)
    case .codeCompared(let matches, let user): conclude(handle, matches: matches, by: user, at: now, under: policy)
    case .cancelRequested: cancel(handle, at: now)
    case .codeLost: state.isLive ? fail(.codeLost, at: now) : []
    case .replaced: state.isLive ? expire(at: now) : []
    case .deadlinePassed: expireIfDue(at: now)
    }
  }

  // MARK: Starts

  private mutating func start(at now: UnixTime, under policy: VerificationPolicy) -> [VerificationAction] {
    guard timeline.isEmpty else { return [] }
    note(.started, at: now)
    guard !isTestNumber else { return [.announce(.started), .answerStarted(resent: false)] }
    let send = queueMessage(for: Self.firstHandle, at: now, under: policy)
    return [.announce(.started), send, .answerStarted(resent: false)]
  }

  /// Its holder is notified like the first: whether the code was sent to others before is not its business.
  private mutating func join(
    _ new: VerificationHandle, sends: Bool, in languageCode: String?, at now: UnixTime, under policy: VerificationPolicy
  ) -> [VerificationAction] {
    guard isLive(at: now), hasRoom(forProven: new.isProven) else { return [] }
    handles.later.append(new)
    let number = handleNumbers.upperBound
    note(.started, of: number, at: now)
    var actions = [VerificationAction.announce(.started, to: number)]
    if sends, isResendDue(at: now, under: policy) {
      actions.append(sendAgain(for: number, in: languageCode, at: now, under: policy))
    }
    return actions + [.answerStarted(resent: false)]
  }

  /// The same handle continues, with its remaining guesses: a request after a cancellation grants no extra guesses, and
  /// takes none away.
  private mutating func reopen(
    _ handle: Int, sends: Bool, in languageCode: String?, at now: UnixTime, under policy: VerificationPolicy
  ) -> [VerificationAction] {
    guard isLive(at: now), ending(of: handle) == .canceled else { return [] }
    reopen(handle)
    note(.started, of: handle, at: now)
    var actions = [VerificationAction.announce(.started, to: handle)]
    let isDue = sends && isResendDue(at: now, under: policy)
    if isDue { actions.append(sendAgain(for: handle, in: languageCode, at: now, under: policy)) }
    return actions + [.answerStarted(resent: isDue)]
  }

  // MARK: Timeline

  mutating func note(
    _ kind: TimelineEntry.Kind, job: Int? = nil, by user: String? = nil, of handle: Int = firstHandle, at now: UnixTime
  ) {
    var entry = TimelineEntry(at: now, kind: kind, job: job)
    entry.user = user
    if kind == .failed { entry.reason = failure?.code }
    if handle != Self.firstHandle { entry.handle = handle }
    timeline.append(entry)
  }
}

enum VerificationEvent: Sendable, Hashable {
  /// The verification begins. The first event, and effective only once.
  case started
  /// The same requester asked again. Sends the same code once more when that is due.
  case startedAgain(languageCode: String?)
  /// Another requester asked for the number, and gets a handle of its own. Sends the same code once more when that is
  /// due and allowed.
  case joined(VerificationHandle, sends: Bool, languageCode: String?)
  /// The holder of a canceled handle asked for the number again, while the code is valid for others. Sends the same
  /// code once more when that is due and allowed.
  case reopened(sends: Bool, languageCode: String?)
  /// A worker reported the outcome of an SMS.
  case jobFinished(JobReport)
  /// A worker reported that an SMS takes a retry delay.
  case jobDelayed(DelayReport)
  /// A provider reported on the delivery of an SMS that it accepted.
  case deliveryReported(DeliveryReport)
  /// A holder requests the comparison of a code. Counts the check, and only then requests the comparison.
  case checkRequested
  /// The comparison requested by ``checkRequested`` was made, for a user of the broker.
  case codeCompared(matches: Bool, by: String? = nil)
  case cancelRequested
  /// Its code can be neither compared nor sent again, because its pepper or fixed code is no longer configured.
  case codeLost
  /// A new verification begins in its place, because too little of its lifetime is left to send its code again.
  case replaced
  /// The deadline may have passed.
  case deadlinePassed
}

/// Actions are taken in order.
enum VerificationAction: Sendable, Hashable {
  enum Announcement: String, Sendable, CaseIterable {
    case started, sent, delivered, undelivered, approved, failed, expired, canceled
  }

  /// Enqueue the SMS with this number, from 1. Its code is always the same.
  case sendMessage(number: Int)
  case announce(Announcement, to: Int = PhoneVerification.firstHandle)
  /// Compare the code and apply ``VerificationEvent/codeCompared(matches:)``.
  case compareCode
  case answerStarted(resent: Bool)
  /// Answer a check: the number is proven.
  case answerApproved
  case answerCanceled
  /// Refuse a check or a cancellation.
  case refuse(VerificationRefusal)
}

// Sending the code once more by the user's wish: the decision, and its effect. After a failure the worker decides.
extension PhoneVerification {
  func isResendDue(at now: UnixTime, under policy: VerificationPolicy) -> Bool {
    isLive(at: now) && !isTestNumber && messages.count < VerificationPolicy.maxMessages && isGapOver(at: now, policy)
  }

  /// A gap much longer than the configured ones results from a clock that has been set back, and is not waited for.
  private func isGapOver(at now: UnixTime, _ policy: VerificationPolicy) -> Bool {
    now >= resendAfter || resendAfter - now > policy.gap(afterMessage: messages.count) + StoreLimits.maxAhead
  }

  /// Whether its code could be sent again at this time, but would expire before it was typed in.
  func isTooOldToResend(at now: UnixTime, under policy: VerificationPolicy) -> Bool {
    isResendDue(at: now, under: policy) && createdAt + policy.maximumLifetime < now + policy.shortestResend
  }

  mutating func startAgain(
    _ handle: Int, in languageCode: String?, at now: UnixTime, under policy: VerificationPolicy
  ) -> [VerificationAction] {
    guard isResendDue(at: now, under: policy) else { return [.answerStarted(resent: false)] }
    return [sendAgain(for: handle, in: languageCode, at: now, under: policy), .answerStarted(resent: true)]
  }

  mutating func sendAgain(
    for handle: Int, in languageCode: String?, at now: UnixTime, under policy: VerificationPolicy
  ) -> VerificationAction {
    if let languageCode { self.languageCode = languageCode }
    // The code is sent again, so it has to stay valid long enough to be typed in.
    expiresAt = min(createdAt + policy.maximumLifetime, max(expiresAt, now + policy.lifetime))
    return queueMessage(for: handle, at: now, under: policy)
  }

  mutating func queueMessage(
    for handle: Int, at now: UnixTime, under policy: VerificationPolicy
  ) -> VerificationAction {
    messages.append(.outstanding)
    if state == .pending { state = .sending }
    resendAfter = now + policy.gap(afterMessage: messages.count)
    if handle != Self.firstHandle { handles.askers[messages.count] = handle }
    note(.smsQueued, job: messages.count, of: handle, at: now)
    return .sendMessage(number: messages.count)
  }
}

extension VerificationPolicy {
  /// The gap after the SMS with this number, from 1.
  func gap(afterMessage number: Int) -> Duration {
    guard !resendGaps.isEmpty else { return .zero }
    return resendGaps[min(max(number, 1), resendGaps.count) - 1]
  }

  var shortestResend: Duration { min(Self.minimumResendLifetime, lifetime) }
}
