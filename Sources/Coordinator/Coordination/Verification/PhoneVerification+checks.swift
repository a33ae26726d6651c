import CountersignTelemetry

// Counts of checks, through a handle. `VerificationCodes.matches` compares the code.
extension PhoneVerification {
  mutating func countCheck(
    _ handle: Int, at now: UnixTime, under policy: VerificationPolicy
  ) -> [VerificationAction] {
    let expiry = expireIfDue(at: now)
    if state == .approved, ending(of: handle) == nil, mayCompareUsed(through: handle, under: policy) {
      countCheck(through: handle)
      return [.compareCode]
    }
    if let refusal = finalRefusal(of: handle) { return expiry + [.refuse(refusal)] }
    guard checksLeft(of: handle, under: policy) > 0 else { return refuseCheck(handle, at: now, under: policy) }
    countCheck(through: handle)
    return [.compareCode]
  }

  /// A handle ends when its own guesses are used up. A handle whose shared guesses were used by others does not end.
  private mutating func refuseCheck(
    _ handle: Int, at now: UnixTime, under policy: VerificationPolicy
  ) -> [VerificationAction] {
    guard ownChecksLeft(of: handle, under: policy) == 0 else {
      return [.refuse(.sharedChecksUsed(wait: expiresAt - now))]
    }
    return exhaust(handle, at: now) + [.refuse(.tooManyAttempts)]
  }

  mutating func conclude(
    _ handle: Int, matches: Bool, at now: UnixTime, under policy: VerificationPolicy
  ) -> [VerificationAction] {
    // A comparison with a used code changes nothing. A wrong code does not learn that it was used.
    if state == .approved { return [.refuse(matches ? .alreadyUsed : .expired)] }
    guard isOpen(handle), checks(of: handle) > 0 else { return [] }
    guard !matches else { return approve(handle, at: now) }
    note(.wrongCode, of: handle, at: now)
    let left = checksLeft(of: handle, under: policy)
    guard left == 0 else { return [.refuse(.wrongCode(checksLeft: left))] }
    return refuseCheck(handle, at: now, under: policy)
  }

  private mutating func approve(_ handle: Int, at now: UnixTime) -> [VerificationAction] {
    let others = openHandles.filter { $0 != handle }
    if handle != Self.firstHandle { handles.approver = handle }
    end(.approved, .approved, of: handle, at: now)
    // The code is used up, for all handles.
    return [.announce(.approved, to: handle)] + others.map { .announce(.expired, to: $0) } + [.answerApproved]
  }
}
