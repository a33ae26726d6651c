import CountersignConcurrency

/// State machine of a transceiver session, without its connection: submissions, window, time-outs.
///
/// ```
///  idle ──connecting──► connecting ──connected──► binding ──bound──► bound ──stop──► draining ──► unbinding ─┐
///   ▲                       │                        │                 │ unbind        │                     │
///   └─────────lost──────────┴────────────────────────┴─────────────────┴───────────────┴─────────────────────┘
/// ```
///
/// Methods return actions, which the owner carries out in order. Submissions wait while the session connects and while
/// the window is full; in `idle` they fail at once.
struct SessionState {
  typealias Instant = ContinuousClock.Instant

  private enum Phase {
    case idle(SMPPError)
    case connecting
    case binding(sequence: UInt32, until: Instant)
    case bound
    /// Nothing new is sent. Outstanding responses may still arrive.
    case draining(Farewell, until: Instant)
    case unbinding(sequence: UInt32, until: Instant)
  }

  private enum Farewell {
    case ours
    case theirs(sequence: UInt32)
  }

  private struct Sent {
    let submission: Submission
    let at: Instant
  }

  private struct HeldReceipt {
    let receipt: SMPPReceipt
    let sequence: UInt32
    /// It is released when no submission sent before it arrived is outstanding.
    let before: Instant
    let until: Instant
  }

  private let request: BindRequest
  private let notation: MessageIDNotation
  private let limits: SMPPConfiguration.Limits
  private var phase = Phase.idle(SMPPError(.notConnected, "the session has not begun"))
  private var lastSequence: UInt32 = 0
  private var throttle: Throttle
  /// Throttled submissions, which go first after the pause.
  private var again: [Submission] = []
  private var waiting = RingBuffer<Submission>()
  private var window: [UInt32: Sent] = [:]
  private var recent = RecentIDs()
  /// Abandoned submissions that the server may still respond to.
  private var overdue = OverdueMessages()
  private var held: [HeldReceipt] = []
  /// Delivery reports handed out and not yet acknowledged.
  private var openReceipts: Set<UInt32> = []
  private var heardAt: Instant?
  /// Whether a submission timed out and nothing has arrived since it was sent: the connection may be dead.
  private var isSilent = false
  private var enquiry: (sequence: UInt32, at: Instant)?

  init(_ request: BindRequest, notation: MessageIDNotation, limits: SMPPConfiguration.Limits) {
    self.request = request
    self.notation = notation
    self.limits = limits
    throttle = Throttle(window: limits.window)
  }

  var inFlight: Int { window.count }

  // MARK: - The connection

  mutating func connecting() { phase = .connecting }

  mutating func connected(now: Instant) -> [SessionAction] {
    let sequence = nextSequence()
    phase = .binding(sequence: sequence, until: now + limits.connectTimeout)
    heardAt = now
    isSilent = false
    return [.send(.bindTransceiver(request), sequence: sequence, ticket: nil)]
  }

  mutating func lost(_ error: SMPPError, unsent: Set<UInt64> = []) -> [SessionAction] {
    phase = .idle(error)
    enquiry = nil
    // The server repeats unacknowledged delivery reports.
    held.removeAll()
    openReceipts.removeAll()
    overdue.removeAll()
    let sent = window.values.sorted { $0.at < $1.at }.map(\.submission)
    window.removeAll()
    return sent.map {
      .finish(ticket: $0.ticket, .failure(error.inMidWindow(!unsent.contains($0.ticket))))
    } + failWaiting(error.inMidWindow(false))
  }

  /// Outstanding responses have until `deadline`.
  mutating func stop(deadline: Instant, now: Instant) -> [SessionAction] {
    switch phase {
    case .idle, .connecting, .binding: return [.end(.closed)]
    case .bound, .draining:
      phase = .draining(.ours, until: deadline)
      return failWaiting(.closed) + farewellIfDrained(now)
    case .unbinding: return []
    }
  }

  // MARK: - Messages

  mutating func submit(_ submission: Submission, now: Instant) -> [SessionAction] {
    switch phase {
    case .idle(let error): return [.finish(ticket: submission.ticket, .failure(error.inMidWindow(false)))]
    case .draining, .unbinding:
      let error = SMPPError(.notConnected, "the session is being ended")
      return [.finish(ticket: submission.ticket, .failure(error))]
    case .connecting, .binding, .bound: break
    }
    guard waiting.count < limits.maxWaiting else {
      return [.finish(ticket: submission.ticket, .failure(.overloaded))]
    }
    if let error = impatience(submission, now) { return [.finish(ticket: submission.ticket, .failure(error))] }
    waiting.append(submission)
    return sendNext(now)
  }

  mutating func cancel(_ ticket: UInt64, now: Instant) -> [SessionAction] {
    let error = SMPPError(.canceled, "canceled by the caller")
    if removeWaiting(where: { $0.ticket == ticket }).isEmpty {
      guard let sequence = window.first(where: { $0.value.submission.ticket == ticket })?.key else { return [] }
      if let sent = window.removeValue(forKey: sequence) { overdue.insert(sequence, sent.submission.origin) }
      return [.finish(ticket: ticket, .failure(error.inMidWindow(true)))] + afterAnswer(now)
    }
    return [.finish(ticket: ticket, .failure(error))]
  }

  mutating func unwritable(_ ticket: UInt64, _ error: SMPPError, now: Instant) -> [SessionAction] {
    if let sequence = window.first(where: { $0.value.submission.ticket == ticket })?.key {
      window.removeValue(forKey: sequence)
    }
    return [.finish(ticket: ticket, .failure(error))] + afterAnswer(now)
  }

  private mutating func sendNext(_ now: Instant) -> [SessionAction] {
    guard case .bound = phase, !throttle.isPaused(at: now) else { return [] }
    var actions: [SessionAction] = []
    while window.count < throttle.limit, let submission = again.isEmpty ? waiting.popFirst() : again.removeFirst() {
      let sequence = nextSequence()
      window[sequence] = Sent(submission: submission, at: now)
      actions.append(.send(.submit(submission.message), sequence: sequence, ticket: submission.ticket))
    }
    return actions
  }

  private func impatience(_ submission: Submission, _ now: Instant) -> SMPPError? {
    let pause = throttle.pause(at: now)
    guard pause > .zero, !submission.isPatient,
      pause > limits.longestWaitForPause || now + pause >= submission.deadline
    else { return nil }
    return SMPPError(.throttled(pause), "the server asks for fewer messages")
  }

  private mutating func removeWaiting(where isMeant: (Submission) -> Bool) -> [Submission] {
    let removed = again.filter(isMeant) + waiting.removeAll(where: isMeant)
    again.removeAll(where: isMeant)
    return removed
  }

  private mutating func failWaiting(_ error: SMPPError) -> [SessionAction] {
    removeWaiting { _ in true }.map { .finish(ticket: $0.ticket, .failure(error)) }
  }

  // MARK: - What the server sends

  mutating func received(_ pdu: IncomingPDU, sequence: UInt32, now: Instant) -> [SessionAction] {
    heardAt = now
    isSilent = false
    enquiry = nil
    switch pdu {
    case .bindResponse(let status): return bindAnswered(status, sequence, now)
    case .submitResponse(let status, let id):
      return answered(status, id.map(notation.ofResponse), sequence, now)
    case .genericNack(let status): return nacked(status, sequence, now)
    case .deliver(let message): return delivered(message, sequence, now)
    case .enquireLink: return [.send(.enquireLinkResponse, sequence: sequence, ticket: nil)]
    case .unbind: return unbound(sequence, now)
    case .unbindResponse:
      guard case .unbinding(sequence, _) = phase else { return [] }
      return [.end(.closed)]
    case .unknownRequest: return [.send(.genericNack(.invalidCommandID), sequence: sequence, ticket: nil)]
    case .malformed: return [.send(.deliverResponse(.permanentReceiverError), sequence: sequence, ticket: nil)]
    case .enquireLinkResponse, .ignored: return []
    }
  }

  private mutating func bindAnswered(_ status: CommandStatus, _ sequence: UInt32, _ now: Instant) -> [SessionAction] {
    guard case .binding(sequence, _) = phase else { return [] }
    guard status == .ok else {
      return [.end(SMPPError(.bindRefused(status), "the server does not let this account in (\(status))"))]
    }
    phase = .bound
    return [.bound] + sendNext(now)
  }

  private mutating func answered(
    _ status: CommandStatus, _ id: String?, _ sequence: UInt32, _ now: Instant
  ) -> [SessionAction] {
    guard let sent = window.removeValue(forKey: sequence) else { return answeredLate(status, id, sequence, now) }
    let ticket = sent.submission.ticket
    if status == .ok {
      throttle.answered(sentAt: sent.at)
      if let id { recent.insert(id, sent.submission.origin) }
      return [.finish(ticket: ticket, .success(id))] + afterAnswer(now)
    }
    if status.asksToSlowDown { return slowDown(sent, status, now) }
    throttle.answered(sentAt: sent.at)
    return [.finish(ticket: ticket, .failure(Self.refusal(status)))] + afterAnswer(now)
  }

  /// Handles the response to an abandoned submission: its delivery report will settle an unknown outcome.
  private mutating func answeredLate(
    _ status: CommandStatus, _ id: String?, _ sequence: UInt32, _ now: Instant
  ) -> [SessionAction] {
    guard let origin = overdue.remove(sequence), status == .ok, let id else { return [] }
    recent.insert(id, origin)
    return releaseReceipts(now)
  }

  /// Handles a throttled submission: it was not taken and is sent again after the pause, if its caller can wait.
  private mutating func slowDown(_ sent: Sent, _ status: CommandStatus, _ now: Instant) -> [SessionAction] {
    var actions: [SessionAction] = []
    if throttle.asked(sentAt: sent.at, now: now) {
      actions.append(.paused(throttle.pause(at: now)))
      let given = removeWaiting { [self] in impatience($0, now) != nil }
      let error = SMPPError(.throttled(throttle.pause(at: now)), "the server asks for fewer messages")
      actions += given.map { .finish(ticket: $0.ticket, .failure(error)) }
    }
    if case .bound = phase, impatience(sent.submission, now) == nil, now < sent.submission.deadline {
      again.append(sent.submission)
    } else {
      let pause = throttle.pause(at: now)
      actions.append(
        .finish(
          ticket: sent.submission.ticket,
          .failure(SMPPError(.throttled(pause), "the server asks for fewer messages (\(status))"))))
    }
    return actions + afterAnswer(now)
  }

  private mutating func nacked(_ status: CommandStatus, _ sequence: UInt32, _ now: Instant) -> [SessionAction] {
    if case .binding(sequence, _) = phase { return bindAnswered(status == .ok ? .bindFailed : status, sequence, now) }
    if window[sequence] != nil { return answered(status == .ok ? .invalidCommandID : status, nil, sequence, now) }
    // The request may have been dropped meanwhile, unless the server could not even read a header.
    guard sequence == 0 else { return [] }
    return [.end(SMPPError(.protocolViolation, "the server could not read what it was sent (\(status))"))]
  }

  private mutating func unbound(_ sequence: UInt32, _ now: Instant) -> [SessionAction] {
    phase = .draining(.theirs(sequence: sequence), until: now + limits.farewell)
    return failWaiting(SMPPError(.notConnected, "the server ended the session")) + farewellIfDrained(now)
  }

  private static func refusal(_ status: CommandStatus) -> SMPPError {
    SMPPError(.refused(status), "the server answered \(status)")
  }

  private mutating func afterAnswer(_ now: Instant) -> [SessionAction] {
    releaseReceipts(now) + farewellIfDrained(now) + sendNext(now)
  }

  private mutating func farewellIfDrained(_ now: Instant) -> [SessionAction] {
    guard case .draining(let farewell, let until) = phase, window.isEmpty || until <= now else { return [] }
    switch farewell {
    case .ours:
      let sequence = nextSequence()
      phase = .unbinding(sequence: sequence, until: now + limits.farewell)
      return [.send(.unbind, sequence: sequence, ticket: nil)]
    case .theirs(let sequence):
      return [
        .send(.unbindResponse, sequence: sequence, ticket: nil),
        .end(SMPPError(.connectionLost, "the server ended the session")),
      ]
    }
  }

  // MARK: - Receipts

  private mutating func delivered(
    _ message: DeliveredMessage, _ sequence: UInt32, _ now: Instant
  ) -> [SessionAction] {
    guard let receipt = SMPPReceipt(message, notation) else {
      // An SMS from a phone, which is not used.
      return [.send(.deliverResponse(.ok), sequence: sequence, ticket: nil)]
    }
    guard openReceipts.count + held.count < limits.maxReceipts else {
      return [.send(.deliverResponse(.temporaryReceiverError), sequence: sequence, ticket: nil)]
    }
    if window.isEmpty || recent.contains(receipt.messageID) { return handOut(receipt, sequence) }
    // The response to its submission may still be on its way and goes first.
    held.append(HeldReceipt(receipt: receipt, sequence: sequence, before: now, until: now + limits.receiptHold))
    return []
  }

  private mutating func handOut(_ receipt: SMPPReceipt, _ sequence: UInt32) -> [SessionAction] {
    openReceipts.insert(sequence)
    var receipt = receipt
    receipt.origin = recent.origin(of: receipt.messageID)
    return [.deliver(receipt, sequence: sequence)]
  }

  private mutating func releaseReceipts(_ now: Instant) -> [SessionAction] {
    guard !held.isEmpty else { return [] }
    let oldest = window.values.lazy.map(\.at).min()
    let isFree: (HeldReceipt) -> Bool = { [recent] held in
      held.until <= now || recent.contains(held.receipt.messageID) || oldest.map { held.before < $0 } ?? true
    }
    let free = held.filter(isFree)
    held.removeAll(where: isFree)
    return free.flatMap { handOut($0.receipt, $0.sequence) }
  }

  mutating func receiptHandled(_ sequence: UInt32, isTaken: Bool) -> [SessionAction] {
    guard openReceipts.remove(sequence) != nil else { return [] }
    return [.send(.deliverResponse(isTaken ? .ok : .temporaryReceiverError), sequence: sequence, ticket: nil)]
  }

  // MARK: - Time

  mutating func tick(now: Instant) -> [SessionAction] {
    var actions = timeOut(now)
    switch phase {
    case .idle, .connecting: return actions
    case .binding(_, let until):
      if until <= now { actions.append(.end(SMPPError(.timedOut, "the server did not answer the bind in time"))) }
      return actions
    case .unbinding(_, let until):
      if until <= now { actions.append(.end(.closed)) }
      return actions
    case .bound, .draining: return actions + afterAnswer(now) + enquire(now)
    }
  }

  private mutating func timeOut(_ now: Instant) -> [SessionAction] {
    let error = SMPPError(.timedOut, "the server did not answer in time")
    let unsent = removeWaiting { $0.deadline <= now }
    let sent = window.filter { $0.value.submission.deadline <= now }
    for (sequence, sent) in sent.sorted(by: { $0.key < $1.key }) {
      window.removeValue(forKey: sequence)
      overdue.insert(sequence, sent.submission.origin)
      if let heardAt, heardAt <= sent.at { isSilent = true }
    }
    let late = SMPPError(.timedOut, "there was no room in the window in time")
    return unsent.map { .finish(ticket: $0.ticket, .failure(late)) }
      + sent.sorted { $0.key < $1.key }.map {
        .finish(ticket: $0.value.submission.ticket, .failure(error.inMidWindow(true)))
      }
  }

  /// Probes a silent server: after the interval, or at once if it did not respond to a submission.
  private mutating func enquire(_ now: Instant) -> [SessionAction] {
    if let enquiry {
      guard enquiry.at + limits.enquireTimeout <= now else { return [] }
      return [.end(SMPPError(.connectionLost, "the server does not answer to enquire_link"))]
    }
    guard let heardAt, isSilent || heardAt + limits.enquireInterval <= now else { return [] }
    let sequence = nextSequence()
    enquiry = (sequence, now)
    return [.send(.enquireLink, sequence: sequence, ticket: nil)]
  }

  /// Next sequence number: 1 to 0x7FFFFFFF (SMPP 3.4, 5.1.4), none that is still in use.
  private mutating func nextSequence() -> UInt32 {
    repeat {
      lastSequence = lastSequence >= 0x7FFF_FFFF ? 1 : lastSequence + 1
    } while window[lastSequence] != nil
    return lastSequence
  }
}
