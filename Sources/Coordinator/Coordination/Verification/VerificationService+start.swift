import CountersignMessages
import CountersignTelemetry
import PhoneNumbers
import SQLite

// Starts: of a new verification, of one that the requester already has, and of one that other requesters have.
extension VerificationService {
  func start(
    _ order: StartOrder, _ request: CommandRequest,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer {
    let now = transaction.now
    let requester = order.requester
    let live = try transaction.liveVerification(order.key)
    let end = live.flatMap { endingEvent(of: $0, order, by: requester, at: now) }
    if let live, end == nil {
      return try startAgain(live, order, requester, request, in: transaction)
    }
    let refusal = order.fixedCode == nil ? try admitNew(order, in: transaction) : nil
    if let refusal { transaction.counts.refusals.append(refusal.scope) }
    // When no new verification may begin, the old one stays unchanged.
    if let live, end == .replaced, let refusal {
      guard let handle = live.openHandle(of: requester) else { return CommandAnswer(APIError(refusal)) }
      return started(AskedVerification(verification: live, handle: handle, wait: refusal.wait), resent: false, at: now)
    }
    if var live, let end {
      let actions = live.apply(end, at: now, under: rules.policy(of: order.app))
      try perform(actions, on: AskedVerification(verification: live), order, request, in: transaction)
      transaction.set(live)
    }
    if let refusal { return CommandAnswer(APIError(refusal)) }
    var verification = order.fresh.verification
    verification.requester = requester.hash
    verification.source = limits.subjects.source(of: order)
    let actions = verification.apply(.started, at: now, under: rules.policy(of: order.app))
    transaction.set(verification)
    return try answer(
      actions, on: AskedVerification(verification: verification), order, request, in: transaction)
  }

  /// Continues a live verification, through the requester's own handle or a further one.
  private func startAgain(
    _ live: PhoneVerification, _ order: StartOrder, _ requester: Requester, _ request: CommandRequest,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer {
    let now = transaction.now
    var asked = AskedVerification(verification: live)
    let known = live.handleToGoOn(of: requester)
    if let known, order.device != nil { asked.verification.prove(known) }
    guard known != nil || live.hasRoom(forProven: order.device != nil) else {
      return CommandAnswer(.tooManyRequesters(wait: live.expiresAt - now))
    }
    if live.isTooOldToResend(at: now, under: rules.policy(of: order.app)) {
      // The verification would expire before the code could be typed in.
      asked.wait = live.expiresAt - now
    } else if live.isResendDue(at: now, under: rules.policy(of: order.app)),
      let refusal = try admit(order, in: transaction)
    {
      transaction.counts.refusals.append(refusal.scope)
      asked.wait = refusal.wait
    }
    let event: VerificationEvent
    if let known {
      asked.handle = known
      // The sent code is valid, and a requester that lost the ID needs it to check the code.
      if live.ending(of: known) == .canceled {
        event = .reopened(sends: asked.wait == nil, languageCode: order.languageCode)
      } else if asked.wait == nil {
        event = .startedAgain(languageCode: order.languageCode)
      } else {
        if asked.verification != live { transaction.set(asked.verification) }
        return started(asked, resent: false, at: now)
      }
    } else {
      asked.handle = live.handleNumbers.upperBound + 1
      let handle = VerificationHandle(
        id: order.fresh.verification.id, requester: requester.hash, isProven: order.device != nil, at: now)
      event = .joined(handle, sends: asked.wait == nil, languageCode: order.languageCode)
    }
    let actions = asked.verification.apply(event, through: asked.handle, at: now, under: rules.policy(of: order.app))
    if asked.verification != live { transaction.set(asked.verification) }
    return try answer(actions, on: asked, order, request, in: transaction)
  }

  /// Answers a start whose proof was not judged because of a limit. Nothing is sent and no handle is made, so a
  /// requester gets at most the handle it has.
  func unjudged(
    _ order: StartOrder, _ refusal: LimitRefusal, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer {
    let now = transaction.now
    guard let live = try transaction.liveVerification(order.key), live.isLive(at: now),
      let handle = live.openHandle(of: order.requester)
    else { return CommandAnswer(APIError(refusal)) }
    let wait = max(refusal.wait, live.resendAfter - now)
    return started(AskedVerification(verification: live, handle: handle, wait: wait), resent: false, at: now)
  }

  /// Reason that a live verification cannot be continued: it has expired or is about to, its code is lost, or no handle
  /// has guesses left.
  private func endingEvent(
    of live: PhoneVerification, _ order: StartOrder, by requester: Requester, at now: UnixTime
  ) -> VerificationEvent? {
    if !live.isLive(at: now) { return .deadlinePassed }
    if let fixedCode = order.fixedCode {
      return codes.matches(fixedCode, live.code, for: live.id) ? nil : .codeLost
    }
    if !canComeBack(live, order, by: requester) { return .replaced }
    // A code that other requesters may still check is not revoked for the last minute of its lifetime.
    if live.isTooOldToResend(at: now, under: rules.policy(of: order.app)), let own = live.openHandle(of: requester),
      live.openHandles == [own]
    {
      return .replaced
    }
    return live.isResendDue(at: now, under: rules.policy(of: order.app))
      && codes.code(of: live.code, for: live.id) == nil
      ? .codeLost : nil
  }

  private func canComeBack(_ live: PhoneVerification, _ order: StartOrder, by requester: Requester) -> Bool {
    var live = live
    let own = live.handleToGoOn(of: requester)
    if let own, order.device != nil { live.prove(own) }
    return live.canComeBack(through: own, isProven: order.device != nil, under: rules.policy(of: order.app))
  }

  /// Only a new verification is subject to the conversion guard; a live one continues.
  private func admitNew(
    _ order: StartOrder, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> LimitRefusal? {
    if let refusal = conversions.refusal(of: order.limitedSend, at: transaction.now) { return refusal }
    return try admit(order, in: transaction)
  }

  private func admit(
    _ order: StartOrder, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> LimitRefusal? {
    return try limits.admit(order.limitedSend, at: transaction.now, in: transaction)
  }
}

extension PhoneVerification {
  fileprivate func openHandle(of requester: Requester) -> Int? {
    openHandle { requester.isSame(as: $0) }
  }

  fileprivate func handleToGoOn(of requester: Requester) -> Int? {
    handleToGoOn { requester.isSame(as: $0) }
  }
}

extension VerificationService {
  /// Starts a verification whose request carries a proof of its app.
  /// - Returns: `nil` when the start waits for reCAPTCHA.
  func startProven(
    _ order: StartOrder, _ request: CommandRequest,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> CommandAnswer? {
    guard let proof = order.proof else { return try start(order, request, in: transaction) }
    switch try gate.judge(proof, order, request, in: transaction) {
    case .refused(let error): return CommandAnswer(error)
    case .deferred: return nil
    case .unjudged(let refusal): return try unjudged(order, refusal, in: transaction)
    case .admitted(let notes):
      var order = order
      order.device = notes.device
      let answer = try start(order, request, in: transaction)
      if answer.error == nil { try leave(notes, order, request, in: transaction) }
      return answer
    }
  }

  /// Records the outcome of its proof in the verification.
  private func leave(
    _ notes: ProofNotes, _ order: StartOrder, _ request: CommandRequest,
    in transaction: CoordinatorTransaction
  ) throws(DatabaseError) {
    guard var verification = try transaction.liveVerification(order.key),
      let handle = verification.openHandle(where: order.requester.isSame)
    else { return }
    var entries = notes.entries
    if let captcha = notes.audited {
      try gate.assess(captcha, order, request, verificationID: verification.id(of: handle), in: transaction)
      transaction.counts.proofs.append(ProofCount(.recaptcha, "asked"))
      entries.append(TimelineEntry(at: transaction.now, kind: .recaptchaQueued))
    }
    guard !entries.isEmpty else { return }
    verification.timeline.add(entries.map { $0.of(handle) })
    transaction.set(verification)
  }
}
