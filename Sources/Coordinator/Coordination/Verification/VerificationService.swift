import CommandEngine
import CountersignMessages
import CountersignTelemetry
import PhoneNumbers

/// Starts, checks, cancels and shows verifications, inside a transaction.
final class VerificationService: Sendable {
  let rules: CoordinatorRules
  let codes: VerificationCodes
  let limits: RateLimits
  let gate: ProofGate
  let records: VerificationRecords
  let conversions: Conversions
  let metrics: CoordinatorMetrics
  let jobs: SMSJobs
  private let logger: Logger
  private let events: VerificationEvents

  init(
    _ rules: CoordinatorRules, codes: VerificationCodes, jobs: SMSJobs, limits: RateLimits, gate: ProofGate,
    records: VerificationRecords, metrics: CoordinatorMetrics, logger: Logger
  ) {
    self.rules = rules
    self.codes = codes
    self.jobs = jobs
    self.limits = limits
    self.gate = gate
    self.records = records
    conversions = records.conversions
    self.metrics = metrics
    self.logger = logger
    events = VerificationEvents(rules, metrics: metrics)
  }

  /// Performs the actions of a command, exactly one of which answers it.
  func answer(
    _ actions: [VerificationAction], on asked: AskedVerification, _ order: StartOrder?, _ envelope: Envelope,
    in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer {
    try perform(actions, on: asked, order, envelope, in: &set) ?? CommandAnswer(.notStored)
  }

  @discardableResult
  func perform(
    _ actions: [VerificationAction], on asked: AskedVerification, _ order: StartOrder?, _ envelope: Envelope,
    in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer? {
    let now = set.now
    let verification = asked.verification
    events.count(actions, on: verification, in: &set)
    var answer: CommandAnswer?
    for action in actions {
      switch action {
      case .sendMessage(let number):
        try set.send(job(number, of: verification, order, envelope, at: now))
      case .announce(let announcement, to: let handle):
        try set.send(events.message(announcement, of: verification, to: handle, cause: envelope, at: now))
      case .compareCode: break
      case .answerStarted(let resent): answer = started(asked, resent: resent, at: now)
      case .answerApproved: answer = CommandAnswer(VerificationApproved(asked, at: now))
      case .answerCanceled: answer = try CommandAnswer(VerificationCanceled(asked, at: now))
      case .refuse(let refusal): answer = CommandAnswer(APIError(refusal))
      }
    }
    return answer
  }

  func started(_ asked: AskedVerification, resent: Bool, at now: UnixTime) -> CommandAnswer {
    CommandAnswer(VerificationStarted(asked, codeLength: rules.policy.codeLength, resent: resent, at: now))
  }

  private func job(
    _ number: Int, of verification: PhoneVerification, _ order: StartOrder?, _ envelope: Envelope,
    at now: UnixTime
  ) throws(StoreError) -> OutgoingMessage {
    .job(
      SMSDispatchJob.type, id: SMSJobs.jobID(verification.id, message: number), correlationID: verification.id,
      cause: envelope, deadline: verification.expiresAt, body: try jobBody(number, of: verification, order), at: now)
  }

  private func jobBody(
    _ number: Int, of verification: PhoneVerification, _ order: StartOrder?
  ) throws(StoreError) -> [UInt8] {
    if number == 1, let order, order.fresh.verification.id == verification.id, let body = order.fresh.firstJob {
      return body
    }
    guard let order, let code = codes.code(of: verification.code, for: verification.id) else {
      throw StoreError(.content, "a code to send again cannot be made")
    }
    do {
      return try jobs.body(of: verification, message: number, code: code, app: order.app)
    } catch {
      throw StoreError(.content, "a code to send again cannot be sealed: \(error)")
    }
  }
}

extension CommandAnswer {
  init(_ started: VerificationStarted) {
    self.init(type: VerificationStarted.type, body: started.fastJSON)
  }

  init(_ approved: VerificationApproved) {
    self.init(type: VerificationApproved.type, body: approved.fastJSON)
  }
}

// Starts: of a new verification, of one that the requester already has, and of one that other requesters have.
extension VerificationService {
  private func fresh(of order: StartOrder) -> PhoneVerification {
    var verification = order.fresh.verification
    verification.requester = order.requester.hash
    verification.source = limits.subjects.source(of: order)
    return verification
  }

  func start(
    _ order: StartOrder, _ envelope: Envelope,
    in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer {
    let now = set.now
    let requester = order.requester
    if let refusal = try refusalOfFictional(order, in: set) {
      metrics.count(refusal, in: &set)
      return CommandAnswer(APIError(refusal))
    }
    let live = try records.live(order.liveKey.get(), in: set)
    let end = try live.flatMap { live throws(StoreError) in try endingEvent(of: live, order, by: requester, in: set) }
    if let live, end == nil {
      return try startAgain(live, order, requester, envelope, in: &set)
    }
    let refusal = order.fixedCode == nil ? try admitNew(order, in: &set) : nil
    if let refusal { metrics.count(refusal, in: &set) }
    // When no new verification may begin, the old one stays unchanged.
    if let live, end == .replaced, let refusal {
      guard let handle = live.openHandle(of: requester) else { return CommandAnswer(APIError(refusal)) }
      return started(AskedVerification(verification: live, handle: handle, wait: refusal.wait), resent: false, at: now)
    }
    if let live, let end {
      if end == .codeLost { noteLostCode(of: live, in: &set) }
      var ended = live
      let actions = ended.apply(end, at: now, under: rules.policy(of: order.app))
      try perform(actions, on: AskedVerification(verification: ended), order, envelope, in: &set)
      try records.put(ended, before: live, in: &set)
    }
    if let refusal { return CommandAnswer(APIError(refusal)) }
    var verification = fresh(of: order)
    let actions = verification.apply(.started, at: now, under: rules.policy(of: order.app))
    try records.put(verification, before: nil, liveKey: order.liveKey.get(), in: &set)
    return try answer(
      actions, on: AskedVerification(verification: verification), order, envelope, in: &set)
  }

  private func startAgain(
    _ live: PhoneVerification, _ order: StartOrder, _ requester: Requester, _ envelope: Envelope,
    in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer {
    let now = set.now
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
      let refusal = try admit(order, in: &set)
    {
      metrics.count(refusal, in: &set)
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
        if asked.verification != live { try records.put(asked.verification, before: live, in: &set) }
        return started(asked, resent: false, at: now)
      }
    } else {
      asked.handle = live.handleNumbers.upperBound + 1
      let handle = VerificationHandle(
        id: order.fresh.verification.id, requester: requester.hash, isProven: order.device != nil, at: now)
      event = .joined(handle, sends: asked.wait == nil, languageCode: order.languageCode)
    }
    let actions = asked.verification.apply(event, through: asked.handle, at: now, under: rules.policy(of: order.app))
    // The text of an SMS is its own start's, and no other one's.
    if asked.verification.messages.count > live.messages.count { asked.verification.variables = order.variables }
    if asked.verification != live { try records.put(asked.verification, before: live, in: &set) }
    return try answer(actions, on: asked, order, envelope, in: &set)
  }

  /// Answers a start whose proof was not judged because of a limit. Nothing is sent and no handle is made, so a
  /// requester gets at most the handle it has.
  func unjudged(
    _ order: StartOrder, _ refusal: LimitRefusal, in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer {
    let now = set.now
    guard let live = try records.live(order.liveKey.get(), in: set), live.isLive(at: now),
      let handle = live.openHandle(of: order.requester)
    else {
      let reached = try order.proof.flatMap { _ throws(StoreError) in
        try limits.admitRefusedStart(from: order.address, in: &set)
      }
      return CommandAnswer(APIError(reached ?? refusal))
    }
    let wait = max(refusal.wait, live.resendAfter - now)
    return started(AskedVerification(verification: live, handle: handle, wait: wait), resent: false, at: now)
  }

  /// After many refusals a client no longer learns which numbers are fictional.
  private func refusalOfFictional(_ order: StartOrder, in set: WorkingSet) throws(StoreError) -> LimitRefusal? {
    guard order.fixedCode != nil else { return nil }
    return limits.refusal(try limits.refusedStarts(from: order.address), in: set)
  }

  /// Reason that a live verification cannot be continued: it has expired or is about to, its code is lost, no handle
  /// has guesses left, or no guess of its first requester would be compared.
  private func endingEvent(
    of live: PhoneVerification, _ order: StartOrder, by requester: Requester, in set: WorkingSet
  ) throws(StoreError) -> VerificationEvent? {
    let now = set.now
    if !live.isLive(at: now) { return .deadlinePassed }
    if let fixedCode = order.fixedCode {
      return codes.matches(fixedCode, live.code, for: live.id) ? nil : .codeLost
    }
    if !canComeBack(live, order, by: requester) { return .replaced }
    if try isNextCodeRefused(live, order, by: requester, in: set) { return .replaced }
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

  /// Whether others have used up the wrong codes of all, so that no further code of its first requester would be
  /// compared. A new code has a first check again, and costs a message.
  private func isNextCodeRefused(
    _ live: PhoneVerification, _ order: StartOrder, by requester: Requester, in set: WorkingSet
  ) throws(StoreError) -> Bool {
    guard live.checks > 0, live.handleToGoOn(of: requester) == PhoneVerification.firstHandle,
      live.isResendDue(at: set.now, under: rules.policy(of: order.app))
    else { return false }
    return try limits.areWrongCodesUsedUp(of: order.app.id, in: set)
  }

  func noteLostCode(of verification: PhoneVerification, in set: inout WorkingSet) {
    set.afterCommit { [metrics, logger, id = verification.id, isFictional = verification.isTestNumber] in
      metrics.countLostCode(isFictional: isFictional)
      guard !isFictional else { return }
      logger.error(
        "a code cannot be compared: it was made with a pepper that this process does not have",
        [
          .verificationID: id, .reason: VerificationFailure.codeLost.code,
          .hint: "compare pepperFile of all coordinators; after a change name the one before as previousPepperFile",
        ])
    }
  }

  private func canComeBack(_ live: PhoneVerification, _ order: StartOrder, by requester: Requester) -> Bool {
    var live = live
    let own = live.handleToGoOn(of: requester)
    if let own, order.device != nil { live.prove(own) }
    return live.canComeBack(through: own, isProven: order.device != nil, under: rules.policy(of: order.app))
  }

  /// Only a new verification is subject to the conversion guard. A live one continues.
  private func admitNew(
    _ order: StartOrder, in set: inout WorkingSet
  ) throws(StoreError) -> LimitRefusal? {
    if let refusal = try conversions.refusal(of: order.limitedSend, in: set) { return refusal }
    return try admit(order, in: &set)
  }

  private func admit(
    _ order: StartOrder, in set: inout WorkingSet
  ) throws(StoreError) -> LimitRefusal? {
    limits.admit(try order.limits.get() + limits.checks(ofDevice: order.device), in: &set)
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
  func startProven(
    _ order: StartOrder, _ envelope: Envelope,
    in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer? {
    guard let proof = order.proof else { return try start(order, envelope, in: &set) }
    switch try gate.judge(proof, order, envelope, in: &set) {
    case .refused(let answer): return answer
    case .deferred: return nil
    case .unjudged(let refusal): return try unjudged(order, refusal, in: &set)
    case .admitted(let notes):
      var order = order
      order.device = notes.device
      let answer = try start(order, envelope, in: &set)
      if answer.error == nil { try leave(notes, order, envelope, in: &set) }
      return answer
    }
  }

  private func leave(
    _ notes: ProofNotes, _ order: StartOrder, _ envelope: Envelope,
    in set: inout WorkingSet
  ) throws(StoreError) {
    guard let live = try records.live(order.liveKey.get(), in: set),
      let handle = live.openHandle(where: order.requester.isSame)
    else { return }
    var entries = notes.entries
    if let captcha = notes.audited {
      try gate.assess(captcha, order, envelope, verificationID: live.id(of: handle), in: &set)
      metrics.countProof(.recaptcha, "asked", in: &set)
      entries.append(TimelineEntry(at: set.now, kind: .recaptchaQueued))
    }
    guard !entries.isEmpty else { return }
    var verification = live
    verification.timeline.add(entries.map { $0.of(handle) })
    try records.put(verification, before: live, in: &set)
  }
}
