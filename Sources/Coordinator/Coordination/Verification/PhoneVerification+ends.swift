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
    _ handle: Int, matches: Bool, by user: String?, at now: UnixTime, under policy: VerificationPolicy
  ) -> [VerificationAction] {
    // A comparison with a used code changes nothing. A wrong code does not learn that it was used.
    if state == .approved { return [.refuse(matches ? .alreadyUsed : .expired)] }
    guard isOpen(handle), checks(of: handle) > 0 else { return [] }
    guard !matches else { return approve(handle, by: user, at: now) }
    note(.wrongCode, by: user, of: handle, at: now)
    let left = checksLeft(of: handle, under: policy)
    guard left == 0 else { return [.refuse(.wrongCode(checksLeft: left))] }
    return refuseCheck(handle, at: now, under: policy)
  }

  /// Notes a check that decided nothing, each reason once for a handle: there may be any number of such checks.
  mutating func noteRefusedCheck(_ reason: String, by user: String?, of handle: Int, at now: UnixTime) {
    let entry = TimelineEntry(at: now, kind: .checkRefused, reason: reason, user: user).of(handle)
    let isNoted = timeline.entries.contains {
      $0.kind == entry.kind && $0.reason == reason && $0.handle == entry.handle
    }
    if !isNoted { timeline.append(entry) }
  }

  private mutating func approve(_ handle: Int, by user: String?, at now: UnixTime) -> [VerificationAction] {
    let others = openHandles.filter { $0 != handle }
    if handle != Self.firstHandle { handles.approver = handle }
    end(.approved, .approved, by: user, of: handle, at: now)
    // The code is used up, for all handles.
    return [.announce(.approved, to: handle)] + others.map { .announce(.expired, to: $0) } + [.answerApproved]
  }
}

// Ends of a verification, and of single handles.
extension PhoneVerification {
  mutating func cancel(_ handle: Int, at now: UnixTime) -> [VerificationAction] {
    let expiry = expireIfDue(at: now)
    if state == .canceled && ending(of: handle) == nil || ending(of: handle) == .canceled { return [.answerCanceled] }
    if handle == approver { return [.refuse(.alreadyUsed)] }
    if let refusal = finalRefusal(of: handle) { return expiry + [.refuse(refusal)] }
    if openHandles == [handle] {
      end(.canceled, .canceled, of: handle, at: now)
    } else {
      end(handle, .canceled)
      note(.canceled, of: handle, at: now)
    }
    return [.announce(.canceled, to: handle), .answerCanceled]
  }

  /// Ends a handle after too many guesses, and with the last handle the code.
  mutating func exhaust(_ handle: Int, at now: UnixTime) -> [VerificationAction] {
    guard openHandles != [handle] else {
      failure = .tooManyAttempts
      end(.failed, .failed, of: handle, at: now)
      return [.announce(.failed, to: handle)]
    }
    end(handle, .exhausted)
    // Without a number it would be the end of the code.
    timeline.append(
      TimelineEntry(at: now, kind: .failed, reason: VerificationFailure.tooManyAttempts.code, handle: handle))
    return [.announce(.failed, to: handle)]
  }

  mutating func expireIfDue(at now: UnixTime) -> [VerificationAction] {
    guard state.isLive, now >= expiresAt else { return [] }
    return expire(at: now)
  }

  mutating func expire(at now: UnixTime) -> [VerificationAction] {
    let open = openHandles
    end(.expired, .expired, at: now)
    return open.map { .announce(.expired, to: $0) }
  }

  mutating func fail(_ reason: VerificationFailure, at now: UnixTime) -> [VerificationAction] {
    let open = openHandles
    failure = reason
    end(.failed, .failed, at: now)
    return open.map { .announce(.failed, to: $0) }
  }

  mutating func end(
    _ state: VerificationState, _ kind: TimelineEntry.Kind, by user: String? = nil, of handle: Int = firstHandle,
    at now: UnixTime
  ) {
    self.state = state
    endedAt = now
    note(kind, by: user, of: handle, at: now)
  }

  func finalRefusal(of handle: Int) -> VerificationRefusal? {
    switch ending(of: handle) {
    case .canceled?: return .canceled
    case .exhausted?: return .tooManyAttempts
    case nil: break
    }
    return switch state {
    case .pending, .sending, .sent: nil
    case .approved: .expired
    case .expired: .expired
    case .canceled: .canceled
    case .failed where failure?.code == VerificationFailure.tooManyAttempts.code: .tooManyAttempts
    case .failed where failure?.code == VerificationFailure.codeLost.code: .codeLost
    case .failed: .notSent(failure ?? .notSentInTime)
    }
  }
}
