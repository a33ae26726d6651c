import CountersignConcurrency

/// Sends publications, matches confirms and returns to them, and repeats those that a lost channel left unconfirmed.
final class PublisherRole: ChannelRole {
  struct Entry {
    var ticket: PublishTicket
    var position: Int
    /// Approximate, on the wire and in memory.
    var size: Int
    var sentAt: Instant
    /// Times the broker closed the connection, possibly because of this entry, while only this one was unconfirmed.
    var closures = 0

    init(_ ticket: PublishTicket, _ position: Int, at now: Instant) {
      (self.ticket, self.position, sentAt) = (ticket, position, now)
      size = ticket.publications[position].message.body.count + PublisherRole.overheadBytes
    }

    // Copied as seldom as possible: a message has a dozen references.
    var publication: Publication { ticket.publications[position] }
  }

  /// Fewer may be a passing problem of the broker.
  private static let maxClosures = 3
  /// A send buffer is far larger.
  private static let bytesPerLook = 8 << 10
  /// Approximate size of a message without its body.
  fileprivate static let overheadBytes = 512

  private let inbox: Inbox<PublishTicket>
  private let options: ConnectionOptions
  private let maxOutstanding: Int
  private let maxOutstandingBytes: Int
  private var waiting = RingBuffer<Entry>()
  private var tracker = ConfirmTracker<Entry>()
  private var window: SendWindow
  private var outstandingBytes = 0
  /// Number of entries at the head of `waiting`, one of which made the broker close the channel. Sent one at a time.
  private var suspects = 0
  private var confirms: ConfirmClock
  private var renewal = ChannelRenewal()
  private var events: [ConnectionEvent] = []

  init(
    inbox: Inbox<PublishTicket>, options: ConnectionOptions, maxOutstanding: Int, maxOutstandingBytes: Int,
    gathering: Gathering
  ) {
    window = SendWindow(gathering)
    self.inbox = inbox
    self.options = options
    confirms = ConfirmClock(timeout: options.confirmTimeout)
    self.maxOutstanding = maxOutstanding
    self.maxOutstandingBytes = maxOutstandingBytes
  }

  var isDrained: Bool { waiting.isEmpty && tracker.isEmpty && inbox.isEmpty }
  var openPhase: ConnectionStatus.Phase { .connected }
  func takeEvents() -> [ConnectionEvent] {
    guard !events.isEmpty else { return [] }
    defer { events = [] }
    return events
  }

  func connected() { renewal = ChannelRenewal() }

  func opened(_ link: AMQPLink, now: Instant) throws(AMQPError) {
    confirms.start(at: now)
    renewal.recordOpening()
    try link.selectConfirms()
  }

  func received(_ event: ChannelEvent, _ link: AMQPLink, now: Instant) throws(AMQPError) {
    switch event {
    case .confirm(let tag, let multiple, let isAck): try confirmed(tag, multiple, isAck, now)
    case .content(let content):
      if case .returned(let code, let text, let exchange, let routingKey) = content.start {
        returned(content.message, code, text, exchange, routingKey)
      }
    case .unblocked: confirms.start(at: now)
    case .blocked, .consumerCanceled, .reply: break
    }
  }

  func takesNewChannel(now: Instant) -> Bool { renewal.take(isAnswered: tracker.isEmpty, now: now) }

  func work(_ link: AMQPLink, now: Instant) throws(AMQPError) -> FollowUp {
    // While the broker does not read, calls stay in the inbox, which drops those whose callers have given up.
    guard !link.isBlocked, !waiting.isEmpty || !inbox.isEmpty else { return FollowUp() }
    // Entries held up by a full socket or by missing confirms are enough for a batch. The rest stays in the inbox until
    // its time comes, so further calls need not wake the queue.
    if waiting.isEmpty, !inbox.isClosed,
      let delay = window.delay(count: inbox.count, isConfirmed: tracker.isEmpty, now: now)
    {
      return FollowUp(after: delay)
    }
    window.sent(at: now)
    for ticket in inbox.takeAll() {
      for position in ticket.publications.indices {
        waiting.append(Entry(ticket, position, at: now))
      }
    }
    let isBatch = waiting.count > 1
    if isBatch { link.socket.setCork(true) }
    defer { if isBatch { link.socket.setCork(false) } }
    var room = 0
    while !waiting.isEmpty, !link.isBlocked, mayHaveMoreOutstanding(now) {
      if room <= 0 {
        guard link.socket.isWritable() else { return FollowUp(whenWritable: true) }
        room = Self.bytesPerLook
      }
      room -= try sendFirst(link, now)
    }
    return FollowUp()
  }

  func due(isBlocked: Bool, now: Instant) -> Instant? {
    let confirm = confirms.due(oldest: tracker.oldest?.sentAt, isBlocked: isBlocked)
    return [confirm, isBlocked ? nil : renewal.due(now: now)].compactMap(\.self).min()
  }

  func tick(_ link: AMQPLink, now: Instant) throws(AMQPError) {
    let due = confirms.due(oldest: tracker.oldest?.sentAt, isBlocked: link.isBlocked)
    guard let due, now >= due else { return }
    throw AMQPError(.timedOut, "a publish was not confirmed within \(options.confirmTimeout)")
  }

  /// `basic.publish` has no answer: a fault (a missing exchange, no permission) closes the channel without naming the
  /// publish.
  func mayReopen(after closure: AMQPLink.Closure) -> Bool {
    guard closure.method == AMQPLink.publishMethod, !tracker.isEmpty else { return false }
    if tracker.count == 1, let culprit = tracker.reset().first {
      outstandingBytes = 0
      culprit.ticket.settle(
        culprit.position, .returned(code: closure.error.replyCode ?? 0, text: closure.error.message))
    } else {
      suspects = tracker.count
    }
    return true
  }

  /// A connection closed because of one publication takes all others with it. As after the loss of a channel, the
  /// suspects are then sent one at a time; one that closes the connection repeatedly is given up. A broker with a
  /// problem of its own costs no publication.
  func connectionClosed(_ error: AMQPError) {
    guard ReplyCodes.mayBeDueToPublication(error.replyCode), !tracker.isEmpty else { return }
    suspects += tracker.count
    guard tracker.count == 1, var culprit = tracker.reset().first else { return }
    culprit.closures += 1
    guard culprit.closures >= Self.maxClosures else { return waiting.prepend(culprit) }
    suspects -= 1
    culprit.ticket.settle(culprit.position, .returned(code: error.replyCode ?? 0, text: error.message))
    events.append(.publicationGivenUp(error))
  }

  func lost(_ error: AMQPError) {
    var again = RingBuffer<Entry>()
    for entry in tracker.reset() { again.append(entry) }
    for entry in waiting.drain() { again.append(entry) }
    waiting = again
    outstandingBytes = 0
  }

  /// Calls stay in the inbox until there is a channel.
  func workOffline() {}

  func stopped(_ error: AMQPError) {
    inbox.close()
    for entry in tracker.reset() + waiting.drain() { entry.ticket.fail(error) }
    for ticket in inbox.takeAll() { ticket.fail(error) }
  }

  private func mayHaveMoreOutstanding(_ now: Instant) -> Bool {
    // The span, not the count: confirmed entries behind an unconfirmed one take memory as well.
    tracker.isEmpty
      || (suspects == 0 && tracker.span < maxOutstanding && outstandingBytes < maxOutstandingBytes
        && !renewal.holds(now: now))
  }

  private func sendFirst(_ link: AMQPLink, _ now: Instant) throws(AMQPError) -> Int {
    guard var entry = waiting.popFirst() else { return 0 }
    if suspects > 0 { suspects -= 1 }
    guard entry.ticket.mayBeSent() else { return 0 }
    entry.sentAt = now
    // Before the send: if it fails, the broker may have received the message nevertheless.
    tracker.append(entry)
    outstandingBytes += entry.size
    try link.publish(entry.publication)
    return entry.size
  }

  private func confirmed(_ tag: UInt64, _ multiple: Bool, _ isAck: Bool, _ now: Instant) throws(AMQPError) {
    let isKnown = tracker.settle(tag, multiple: multiple) { entry, returned in
      outstandingBytes -= entry.size
      let target = ChannelRenewal.Target(entry.ticket.publications[entry.position])
      renewal.record(target, isAck: isAck, isReturned: returned != nil, now: now)
      let outcome: PublishOutcome =
        if let returned { .returned(code: returned.code, text: returned.text) } else if isAck { .confirmed } else {
          .nacked
        }
      entry.ticket.settle(entry.position, outcome)
    }
    guard isKnown else {
      throw AMQPError(.protocolViolation, "the broker confirmed publish \(tag), which is not outstanding")
    }
  }

  /// A return does not name the publish. All with the same exchange, key and ID are returned alike, so the oldest will
  /// do.
  private func returned(_ message: Message, _ code: Int, _ text: String, _ exchange: String, _ routingKey: String) {
    _ = tracker.markReturned(code: code, text: text) { entry in
      let publication = entry.publication
      return publication.mandatory && publication.message.messageID == message.messageID
        && publication.routingKey == routingKey && publication.exchange == exchange
    }
  }
}
