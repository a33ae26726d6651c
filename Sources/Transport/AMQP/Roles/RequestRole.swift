import CountersignConcurrency

/// Sends requests and matches replies to them, over one channel that publishes and consumes
/// `amq.rabbitmq.reply-to` (RabbitMQ, "Direct Reply-to"): replies reach this very channel and no queue is declared.
///
/// Replies are lost with their channel, so unanswered requests are sent again on the next one. Receivers recognize them
/// by their message ID.
final class RequestRole: ChannelRole {
  static let replyQueue = "amq.rabbitmq.reply-to"

  private struct Entry {
    var ticket: RequestTicket
    var sentAt: Instant
  }

  /// Maximum delay until waiting requests notice the room left by requests that ended without a reply.
  private static let roomTick: Duration = .milliseconds(100)
  /// Delay before a refused request that was taken before is sent again.
  private static let retryDelay: Duration = .seconds(1)
  private static let leastBeforeDrop = 1_024

  private let inbox: Inbox<RequestTicket>
  private let options: ConnectionOptions
  private let maxOutstanding: Int
  private let exchange: String?
  private var waiting = RingBuffer<RequestTicket>()
  /// Requests that a queue has taken, and refused on a later channel, in the order of their times.
  private var refused = RingBuffer<(ticket: RequestTicket, retryAt: Instant)>()
  private var tracker = ConfirmTracker<Entry>()
  private var asked: [String: RequestTicket] = [:]
  /// Number of tickets at the head of `waiting`, one of which made the broker close the channel. Sent one at a time.
  private var suspects = 0
  private var confirms: ConfirmClock
  private var renewal = ChannelRenewal()
  private var dropsAt = leastBeforeDrop

  init(inbox: Inbox<RequestTicket>, options: ConnectionOptions, maxOutstanding: Int, exchange: String? = nil) {
    self.inbox = inbox
    self.options = options
    self.exchange = exchange
    confirms = ConfirmClock(timeout: options.confirmTimeout)
    self.maxOutstanding = maxOutstanding
  }

  var isDrained: Bool {
    waiting.isEmpty && refused.isEmpty && inbox.isEmpty && asked.values.allSatisfy(\.isDecided)
  }
  var openPhase: ConnectionStatus.Phase { .connected }
  func takeEvents() -> [ConnectionEvent] { [] }

  func connected() { renewal = ChannelRenewal() }

  func opened(_ link: AMQPLink, now: Instant) throws(AMQPError) {
    confirms.start(at: now)
    renewal.recordOpening()
    if let exchange {
      // Only its name counts.
      try link.declareExchange(exchange, type: "direct", isPassive: true, isDurable: true, arguments: [:])
    }
    try link.selectConfirms()
    // Before the first request, or the broker refuses its reply address.
    _ = try link.consume(Self.replyQueue, tag: "", noAck: true)
  }

  func received(_ event: ChannelEvent, _ link: AMQPLink, now: Instant) throws(AMQPError) {
    switch event {
    case .content(let content): received(content)
    case .confirm(let tag, let multiple, let isAck):
      let isKnown = tracker.settle(tag, multiple: multiple) { entry, returned in
        settle(entry.ticket, isAck: isAck, isReturned: returned != nil, now)
      }
      guard isKnown else {
        throw AMQPError(.protocolViolation, "the broker confirmed publish \(tag), which is not outstanding")
      }
    case .consumerCanceled: throw AMQPError(.consumerCanceled, "the broker canceled the consumer of replies")
    case .unblocked: confirms.start(at: now)
    case .blocked, .reply: break
    }
  }

  /// Requests without a reply are then sent again, for their reply address goes with the channel.
  func takesNewChannel(now: Instant) -> Bool { renewal.take(isAnswered: tracker.isEmpty, now: now) }

  func work(_ link: AMQPLink, now: Instant) throws(AMQPError) -> FollowUp {
    // While the broker does not read, calls stay in the inbox, which drops those whose callers have given up.
    guard !link.isBlocked else { return FollowUp() }
    for ticket in inbox.takeAll() { waiting.append(ticket) }
    while let first = refused.first, first.retryAt <= now {
      _ = refused.popFirst()
      waiting.append(first.ticket)
    }
    if asked.count >= min(dropsAt, maxOutstanding) { dropDecided() }
    while !link.isBlocked, mayHaveMoreOutstanding(now), let ticket = waiting.first {
      guard link.socket.isWritable() else { return FollowUp(whenWritable: true) }
      _ = waiting.popFirst()
      if suspects > 0 { suspects -= 1 }
      try send(ticket, link, now)
    }
    return FollowUp()
  }

  func due(isBlocked: Bool, now: Instant) -> Instant? {
    guard !isBlocked else { return nil }
    let room = waiting.isEmpty ? nil : now + Self.roomTick
    return [room, confirmDue(isBlocked), renewal.due(now: now), refused.first?.retryAt].compactMap(\.self).min()
  }

  func tick(_ link: AMQPLink, now: Instant) throws(AMQPError) {
    guard let due = confirmDue(link.isBlocked), now >= due else { return }
    throw AMQPError(.timedOut, "a request was not confirmed within \(options.confirmTimeout)")
  }

  func mayReopen(after closure: AMQPLink.Closure) -> Bool {
    guard closure.method == AMQPLink.publishMethod, !tracker.isEmpty else { return false }
    if tracker.count == 1, let culprit = tracker.reset().first {
      fail(culprit.ticket, closure.error)
    } else {
      suspects = tracker.count
    }
    return true
  }

  func lost(_ error: AMQPError) {
    var again = RingBuffer<RequestTicket>()
    // Suspects first, then the rest.
    for ticket in tracker.reset().map(\.ticket) {
      if asked[ticket.correlationID] === ticket { asked.removeValue(forKey: ticket.correlationID) }
      again.append(ticket)
    }
    for ticket in asked.values { again.append(ticket) }
    for ticket in refused.drain().map(\.ticket) + waiting.drain() { again.append(ticket) }
    asked = [:]
    waiting = again
  }

  func workOffline() {}

  func stopped(_ error: AMQPError) {
    inbox.close()
    for ticket in Array(asked.values) + refused.drain().map(\.ticket) + waiting.drain() + inbox.takeAll() {
      ticket.fail(error)
    }
    asked = [:]
    _ = tracker.reset()
  }

  private func confirmDue(_ isBlocked: Bool) -> Instant? {
    confirms.due(oldest: tracker.oldest?.sentAt, isBlocked: isBlocked)
  }

  /// Drops requests whose callers have given up, which they do not report here.
  private func dropDecided() {
    asked = asked.filter { !$0.value.isDecided }
    dropsAt = max(Self.leastBeforeDrop, 2 * asked.count)
  }

  private func mayHaveMoreOutstanding(_ now: Instant) -> Bool {
    tracker.isEmpty
      || (suspects == 0 && tracker.span < maxOutstanding && asked.count < maxOutstanding && !renewal.holds(now: now))
  }

  private func send(_ ticket: RequestTicket, _ link: AMQPLink, _ now: Instant) throws(AMQPError) {
    guard !ticket.isDecided else { return }
    if let other = asked[ticket.correlationID], other !== ticket, !other.isDecided {
      return ticket.fail(
        AMQPError(.preconditionFailed, "a request with the same correlation ID still waits for its reply"))
    }
    asked[ticket.correlationID] = ticket
    tracker.append(Entry(ticket: ticket, sentAt: now))
    try link.publish(ticket.publication)
  }

  private func settle(_ ticket: RequestTicket, isAck: Bool, isReturned: Bool, _ now: Instant) {
    renewal.record(ChannelRenewal.Target(ticket.publication), isAck: isAck, isReturned: isReturned, now: now)
    if isAck {
      if !isReturned { ticket.accept() }
    } else if ticket.isAccepted {
      // A queue has it from an earlier channel, whose reply address is gone: only a further copy can be answered.
      if asked[ticket.correlationID] === ticket { asked.removeValue(forKey: ticket.correlationID) }
      refused.append((ticket, now + Self.retryDelay))
    } else {
      fail(ticket, AMQPError(.nacked, "the broker refused the request; the queue may be full"))
    }
  }

  private func received(_ content: FrameAssembler.Content) {
    guard let id = content.message.correlationID, let ticket = asked[id] else { return }
    switch content.start {
    case .delivery:
      asked.removeValue(forKey: id)
      if content.isOversize {
        ticket.fail(
          AMQPError(.tooLarge, "the reply has \(content.bodyBytes) bytes, the limit is \(options.maxBodyBytes)"))
      } else {
        ticket.succeed(content.message)
      }
    case .returned(let code, let text, let exchange, let routingKey):
      let target =
        exchange.isEmpty ? "queue '\(routingKey)'" : "queue bound to '\(routingKey)' at exchange '\(exchange)'"
      _ = tracker.markReturned(code: code, text: text) { $0.ticket === ticket }
      fail(ticket, AMQPError(.notFound, "there is no \(target)", replyCode: code))
    case .got: break
    }
  }

  private func fail(_ ticket: RequestTicket, _ error: AMQPError) {
    if asked[ticket.correlationID] === ticket { asked.removeValue(forKey: ticket.correlationID) }
    ticket.fail(error)
  }
}
