import CountersignTelemetry

// Sending the code once more by the user's wish: the decision, and its effect. After a failure the worker decides.
extension PhoneVerification {
  /// Whether a request at this time sends another SMS.
  func isResendDue(at now: UnixTime, under policy: VerificationPolicy) -> Bool {
    isLive(at: now) && !isTestNumber && messages.count < VerificationPolicy.maxMessages && isGapOver(at: now, policy)
  }

  /// A gap longer than the configured ones results from a clock that has been set back, and is not waited for.
  private func isGapOver(at now: UnixTime, _ policy: VerificationPolicy) -> Bool {
    now >= resendAfter || resendAfter - now > policy.gap(afterMessage: messages.count)
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

  /// ``minimumResendLifetime``, or the lifetime of a code if that is shorter.
  var shortestResend: Duration { min(Self.minimumResendLifetime, lifetime) }
}
