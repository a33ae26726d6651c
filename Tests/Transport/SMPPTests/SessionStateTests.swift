import Testing

@testable import SMPP

@Suite struct SessionStateTests {
  private let start = Sample.start

  private func bound(_ limits: SMPPConfiguration.Limits = Sample.limits()) -> SessionState {
    var state = SessionState(Sample.bind, notation: .same, limits: limits)
    state.connecting()
    #expect(state.connected(now: start) == [.send(.bindTransceiver(Sample.bind), sequence: 1, ticket: nil)])
    #expect(state.received(.bindResponse(.ok), sequence: 1) == [.bound])
    return state
  }

  private func sent(_ sequence: UInt32, _ ticket: UInt64) -> SessionAction {
    .send(.submit(Sample.message()), sequence: sequence, ticket: ticket)
  }

  private func ok(_ id: String) -> IncomingPDU { .submitResponse(.ok, messageID: id) }

  private func receipt(_ id: String) throws -> DeliveredMessage {
    try #require(Sample.delivered(Sample.delivery("id:\(id) stat:DELIVRD err:000 text:")))
  }

  private func delivered(_ id: String, _ sequence: UInt32) -> SessionAction {
    .deliver(SMPPReceipt(messageID: id, state: .delivered, errorCode: "000"), sequence: sequence)
  }

  private func ended(_ actions: [SessionAction]) -> SMPPError.Kind? {
    for case .end(let error) in actions { return error.kind }
    return nil
  }

  private func failures(_ actions: [SessionAction]) -> [UInt64: (kind: SMPPError.Kind, mayHaveBeenTaken: Bool)] {
    var failures: [UInt64: (SMPPError.Kind, Bool)] = [:]
    for case .finish(let ticket, .failure(let error)) in actions {
      failures[ticket] = (error.kind, error.mayHaveBeenTaken)
    }
    return failures
  }

  @Test func `Messages wait while the session comes up, and go then`() {
    var state = SessionState(Sample.bind, notation: .same, limits: Sample.limits())
    state.connecting()
    #expect(state.submit(Sample.submission(1)).isEmpty)
    _ = state.connected(now: start)
    #expect(state.submit(Sample.submission(2)).isEmpty)
    #expect(state.received(.bindResponse(.ok), sequence: 1) == [.bound, sent(2, 1), sent(3, 2)])
  }

  @Test func `Without a connection messages fail at once, and surely were not taken`() {
    var state = SessionState(Sample.bind, notation: .same, limits: Sample.limits())
    let failure = failures(state.submit(Sample.submission(1)))[1]
    #expect(failure?.kind == .notConnected)
    #expect(failure?.mayHaveBeenTaken == false)
  }

  @Test func `A bind that is refused ends the connection; so does one that is not answered`() {
    var state = SessionState(Sample.bind, notation: .same, limits: Sample.limits())
    state.connecting()
    _ = state.connected(now: start)
    var copy = state
    #expect(ended(state.received(.bindResponse(.invalidPassword), sequence: 1)) == .bindRefused(.invalidPassword))
    #expect(copy.tick(now: start + .seconds(4)).isEmpty)
    #expect(copy.tick(now: start + .seconds(5)).count == 1)
  }

  @Test func `The window holds back what is too much, in order`() {
    var state = bound()
    #expect(state.submit(Sample.submission(1)) == [sent(2, 1)])
    #expect(state.submit(Sample.submission(2)) == [sent(3, 2)])
    #expect(state.submit(Sample.submission(3)).isEmpty)
    #expect(state.submit(Sample.submission(4)).isEmpty)
    #expect(state.received(ok("b"), sequence: 3) == [.finish(ticket: 2, .success("b")), sent(4, 3)])
    #expect(state.inFlight == 2)
    #expect(state.received(ok("a"), sequence: 2) == [.finish(ticket: 1, .success("a")), sent(5, 4)])
  }

  @Test func `More than may wait fail, and surely were not taken`() {
    var state = bound(Sample.limits(window: 1, maxWaiting: 1))
    state.submit(1, 2)
    #expect(failures(state.submit(Sample.submission(3)))[3]?.kind == .overloaded)
  }

  @Test
  func `A connection lost in mid-window: what was written may have been taken, what was not and what waited was not`() {
    var state = bound()
    for ticket in 1...4 as ClosedRange<UInt64> { _ = state.submit(Sample.submission(ticket)) }
    let failures = failures(state.lost(SMPPLink.ended, unsent: [2]))
    #expect(failures.mapValues(\.mayHaveBeenTaken) == [1: true, 2: false, 3: false, 4: false])
    #expect(failures.values.allSatisfy { $0.kind == .connectionLost })
    #expect(state.inFlight == 0)
    #expect(self.failures(state.submit(Sample.submission(5)))[5]?.mayHaveBeenTaken == false)
  }

  @Test func `A message that is not answered in time may have been taken; nobody waits for its late answer`() {
    var state = bound(Sample.limits(window: 1))
    _ = state.submit(Sample.submission(1, timeout: .seconds(1)))
    _ = state.submit(Sample.submission(2, timeout: .seconds(1)))
    _ = state.submit(Sample.submission(3))
    let actions = state.tick(now: start + .seconds(1))
    let failures = failures(actions)
    #expect(failures[1]?.mayHaveBeenTaken == true)
    #expect(failures[2]?.mayHaveBeenTaken == false)
    #expect(failures.values.allSatisfy { $0.kind == .timedOut })
    #expect(actions.contains(sent(3, 3)))
    #expect(state.received(ok("late"), sequence: 2, now: start + .seconds(2)).isEmpty)
  }

  @Test func `A receipt of a message whose answer came too late is still known to be its own, the second one too`()
    throws
  {
    var state = bound(Sample.limits(window: 1))
    let origin = MessageOrigin(id: "job-1", correlationID: "c-1")
    var late = Sample.submission(1, timeout: .seconds(1))
    late.origin = origin
    _ = state.submit(late)
    _ = state.tick(now: start + .seconds(1))
    _ = state.submit(Sample.submission(2), now: start + .seconds(1))
    let receipt = try #require(Sample.delivered(Sample.delivery("id:late stat:DELIVRD err:000 text:")))
    // It overtakes the answer, and waits for it.
    #expect(state.received(.deliver(receipt), sequence: 7, now: start + .seconds(2)).isEmpty)
    for (sequence, actions) in [
      (7 as UInt32, state.received(ok("late"), sequence: 2, now: start + .seconds(2))),
      (8, state.received(.deliver(receipt), sequence: 8, now: start + .seconds(3))),
    ] {
      guard case .deliver(let handed, sequence: sequence)? = actions.first else {
        Issue.record("not handed out: \(actions)")
        continue
      }
      #expect(handed.origin == origin && handed.messageID == "late")
    }
  }

  @Test func `Only so many late answers are waited for`() {
    var overdue = OverdueMessages()
    for sequence in 1...UInt32(OverdueMessages.capacity + 1) {
      overdue.insert(sequence, MessageOrigin(id: "\(sequence)"))
    }
    #expect(overdue.remove(1) == nil && overdue.remove(2)?.id == nil)
    #expect(overdue.remove(UInt32(OverdueMessages.capacity + 1))?.id == "\(OverdueMessages.capacity + 1)")
    #expect(overdue.remove(UInt32(OverdueMessages.capacity))?.id == "\(OverdueMessages.capacity)")
    #expect(overdue.remove(UInt32(OverdueMessages.capacity)) == nil)
  }

  @Test func `A server that leaves a message unanswered and says nothing else is asked at once whether it is there`() {
    var state = bound(Sample.limits(window: 2))
    _ = state.submit(Sample.submission(1, timeout: .seconds(1)), now: start + .milliseconds(1))
    let enquiry = SessionAction.send(.enquireLink, sequence: 3, ticket: nil)
    #expect(state.tick(now: start + .milliseconds(1001)).last == enquiry)
    #expect(state.tick(now: start + .seconds(2)).isEmpty)
    #expect(ended(state.tick(now: start + .seconds(12))) == .connectionLost)
  }

  @Test func `One that only is slow is not suspected`() {
    var state = bound(Sample.limits(window: 2))
    _ = state.submit(Sample.submission(1, timeout: .seconds(1)), now: start + .milliseconds(1))
    _ = state.submit(Sample.submission(2, timeout: .seconds(9)), now: start + .milliseconds(1))
    _ = state.received(ok("b"), sequence: 3, now: start + .milliseconds(500))
    #expect(failures(state.tick(now: start + .seconds(2)))[1]?.kind == .timedOut)
    #expect(state.tick(now: start + .seconds(3)).isEmpty)
  }

  @Test func `A caller that gives up`() {
    var state = bound(Sample.limits(window: 1))
    state.submit(1, 2)
    #expect(failures(state.cancel(2))[2]?.mayHaveBeenTaken == false)
    #expect(failures(state.cancel(1))[1]?.mayHaveBeenTaken == true)
    #expect(state.cancel(1).isEmpty)
  }

  @Test func `A refusal is the message's own; the session goes on`() {
    var state = bound(Sample.limits(window: 1))
    state.submit(1, 2)
    let status = CommandStatus(rawValue: 0x0B)
    let actions = state.received(.submitResponse(status, messageID: nil), sequence: 2)
    #expect(failures(actions)[1]?.kind == .refused(status))
    #expect(actions.last == sent(3, 2))
  }

  @Test
  func `generic_nack answers to the request whose number it has; without a number nothing can be trusted any more`() {
    var state = bound()
    state.submit(1)
    #expect(
      failures(state.received(.genericNack(.invalidCommandLength), sequence: 2))[1]?.kind
        == .refused(.invalidCommandLength))
    #expect(state.received(.genericNack(.invalidCommandID), sequence: 99).isEmpty)
    #expect(ended(state.received(.genericNack(.invalidCommandLength), sequence: 0)) == .protocolViolation)
  }

  private let slower = IncomingPDU.submitResponse(.throttled, messageID: nil)

  @Test func `Throttling stops the whole session for a while; the message goes again by itself, once`() {
    var state = bound()
    state.submit(1)
    #expect(state.received(slower, sequence: 2, now: start + .milliseconds(1)) == [.paused(Throttle.firstPause)])
    #expect(state.submit(Sample.submission(2), now: start + .milliseconds(2)).isEmpty)
    #expect(state.tick(now: start + .milliseconds(200)).isEmpty)
    // The window is half as wide afterwards: one.
    #expect(state.tick(now: start + .milliseconds(251)) == [sent(3, 1)])
    #expect(
      state.received(ok("a"), sequence: 3, now: start + .milliseconds(260))
        == [.finish(ticket: 1, .success("a")), sent(4, 2)])
  }

  @Test func `In a long pause messages are given back for another lane, patient ones wait`() {
    var state = bound(Sample.limits(window: 4))
    var now = start
    _ = state.submit(Sample.submission(1, timeout: .seconds(60)), now: now)
    var sequence: UInt32 = 2
    var given: [UInt64: (kind: SMPPError.Kind, mayHaveBeenTaken: Bool)] = [:]
    while given.isEmpty {
      now += .milliseconds(1)
      given = failures(state.received(slower, sequence: sequence, now: now))
      now += .seconds(2)
      if given.isEmpty { #expect(state.tick(now: now) == [sent(sequence + 1, 1)]) }
      sequence += 1
    }
    // 250, 500, 1000 ms are waited for; 2 s are not.
    #expect(given[1]?.kind == .throttled(.seconds(2)))
    now -= .seconds(2)
    #expect(failures(state.submit(Sample.submission(2, from: now), now: now))[2]?.kind == .throttled(.seconds(2)))
    #expect(state.submit(Sample.submission(3, from: now, isPatient: true), now: now).isEmpty)
    #expect(state.tick(now: now + .seconds(2)) == [sent(sequence, 3)])
  }

  @Test func `Calls under way when a pause begins do not prolong it`() {
    var state = bound()
    state.submit(1, 2)
    let now = start + .milliseconds(10)
    #expect(state.received(slower, sequence: 2, now: now) == [.paused(Throttle.firstPause)])
    #expect(state.received(slower, sequence: 3, now: now).isEmpty)
    #expect(state.tick(now: now + Throttle.firstPause).count == 1)
  }

  @Test func `A receipt is answered when it was taken over, and put off when it could not be`() throws {
    var state = bound()
    #expect(state.received(.deliver(try receipt("a")), sequence: 7) == [delivered("a", 7)])
    #expect(state.receiptHandled(7, isTaken: true) == [.send(.deliverResponse(.ok), sequence: 7, ticket: nil)])
    #expect(state.receiptHandled(7, isTaken: true).isEmpty)
    _ = state.received(.deliver(try receipt("a")), sequence: 8)
    #expect(
      state.receiptHandled(8, isTaken: false)
        == [.send(.deliverResponse(.temporaryReceiverError), sequence: 8, ticket: nil)])
  }

  @Test func `A receipt that overtakes the response of its message is handed over behind it`() throws {
    var state = bound()
    state.submit(1)
    #expect(state.received(.deliver(try receipt("a")), sequence: 7, now: start + .milliseconds(1)).isEmpty)
    #expect(
      state.received(ok("a"), sequence: 2, now: start + .milliseconds(2))
        == [.finish(ticket: 1, .success("a")), delivered("a", 7)])
  }

  @Test func `A receipt of a message that was answered before is not held up by others`() throws {
    var state = bound()
    state.submit(1)
    _ = state.received(ok("a"), sequence: 2)
    _ = state.submit(Sample.submission(2))
    #expect(state.received(.deliver(try receipt("a")), sequence: 7) == [delivered("a", 7)])
  }

  @Test func `A receipt says whose message it is`() throws {
    var state = bound()
    var submission = Sample.submission(1)
    submission.origin = MessageOrigin(id: "job-1", correlationID: "c")
    _ = state.submit(submission)
    _ = state.received(ok("a"), sequence: 2)
    let actions = state.received(.deliver(try receipt("a")), sequence: 7)
    let expected = SMPPReceipt(
      messageID: "a", state: .delivered, errorCode: "000", origin: MessageOrigin(id: "job-1", correlationID: "c"))
    #expect(actions == [.deliver(expected, sequence: 7)])
  }

  @Test func `A receipt of another worker's message is held until what was under way is answered, or for a second`()
    throws
  {
    var state = bound()
    state.submit(1)
    #expect(state.received(.deliver(try receipt("x")), sequence: 7, now: start + .milliseconds(1)).isEmpty)
    _ = state.submit(Sample.submission(2), now: start + .milliseconds(2))
    var copy = state
    #expect(
      state.received(ok("a"), sequence: 2, now: start + .milliseconds(3))
        == [.finish(ticket: 1, .success("a")), delivered("x", 7)])
    #expect(copy.tick(now: start + .milliseconds(500)).isEmpty)
    #expect(copy.tick(now: start + .milliseconds(1001)) == [delivered("x", 7)])
  }

  @Test func `More receipts than are handled at once are put off`() throws {
    var limits = Sample.limits()
    limits.maxReceipts = 1
    var state = bound(limits)
    _ = state.received(.deliver(try receipt("a")), sequence: 7)
    #expect(
      state.received(.deliver(try receipt("b")), sequence: 8)
        == [.send(.deliverResponse(.temporaryReceiverError), sequence: 8, ticket: nil)])
  }

  @Test func `A message from a phone is acknowledged and read over`() throws {
    var state = bound()
    let message = try #require(Sample.delivered(Sample.delivery("STOP", esmClass: 0)))
    #expect(state.received(.deliver(message), sequence: 7) == [.send(.deliverResponse(.ok), sequence: 7, ticket: nil)])
  }

  @Test func `A silent server is asked whether it is there; one that does not answer is left`() {
    var state = bound()
    #expect(state.tick(now: start + .seconds(29)).isEmpty)
    #expect(state.tick(now: start + .seconds(30)) == [.send(.enquireLink, sequence: 2, ticket: nil)])
    var answered = state
    #expect(answered.received(.enquireLinkResponse, sequence: 2, now: start + .seconds(31)).isEmpty)
    #expect(answered.tick(now: start + .seconds(41)).isEmpty)
    #expect(state.tick(now: start + .seconds(39)).isEmpty)
    #expect(ended(state.tick(now: start + .seconds(40))) == .connectionLost)
  }

  @Test func `The server's own questions are answered`() {
    var state = bound()
    #expect(state.received(.enquireLink, sequence: 9) == [.send(.enquireLinkResponse, sequence: 9, ticket: nil)])
    #expect(
      state.received(.unknownRequest, sequence: 9)
        == [.send(.genericNack(.invalidCommandID), sequence: 9, ticket: nil)])
    #expect(
      state.received(.malformed, sequence: 9)
        == [.send(.deliverResponse(.permanentReceiverError), sequence: 9, ticket: nil)])
  }

  @Test func `A stop lets what is under way be answered, then unbinds`() {
    var state = bound(Sample.limits(window: 1))
    state.submit(1, 2)
    #expect(failures(state.stop(deadline: start + .seconds(5), now: start))[2]?.kind == .closed)
    #expect(failures(state.submit(Sample.submission(3)))[3]?.mayHaveBeenTaken == false)
    #expect(
      state.received(ok("a"), sequence: 2)
        == [.finish(ticket: 1, .success("a")), .send(.unbind, sequence: 3, ticket: nil)])
    #expect(state.received(.unbindResponse, sequence: 3) == [.end(.closed)])
  }

  @Test func `A stop waits no longer than it may`() {
    var state = bound()
    state.submit(1)
    #expect(state.stop(deadline: start + .seconds(1), now: start).isEmpty)
    #expect(state.tick(now: start + .seconds(1)) == [.send(.unbind, sequence: 3, ticket: nil)])
    #expect(state.tick(now: start + .seconds(3)) == [.end(.closed)])
  }

  @Test func `A server that ends the session may answer to what is under way; what waits goes elsewhere`() {
    var state = bound(Sample.limits(window: 1))
    state.submit(1, 2)
    #expect(failures(state.received(.unbind, sequence: 5))[2]?.mayHaveBeenTaken == false)
    let actions = state.received(ok("a"), sequence: 2)
    #expect(actions.first == .finish(ticket: 1, .success("a")))
    #expect(actions.contains(.send(.unbindResponse, sequence: 5, ticket: nil)))
  }
}

extension SessionState {
  fileprivate mutating func submit(_ tickets: UInt64...) {
    for ticket in tickets { _ = submit(Sample.submission(ticket), now: Sample.start) }
  }

  fileprivate mutating func submit(_ submission: Submission) -> [SessionAction] {
    submit(submission, now: Sample.start)
  }

  fileprivate mutating func received(_ pdu: IncomingPDU, sequence: UInt32) -> [SessionAction] {
    received(pdu, sequence: sequence, now: Sample.start)
  }

  fileprivate mutating func cancel(_ ticket: UInt64) -> [SessionAction] { cancel(ticket, now: Sample.start) }
}
