import CountersignConcurrency

/// Consumes one queue: hands deliveries over in batches, gathers acknowledgements, and notices when the broker has
/// forgotten about the consumer.
final class ConsumerRole: ChannelRole {
  /// How long after the broker canceled the consumer it is started again.
  static let restartDelay: Duration = .milliseconds(500)

  private let inbox: ConsumerInbox
  private let queue: String
  private let lock: ConsumerLock?
  private let prefetch: Int
  private let wantedTag: String
  /// Number of the channel, over the life of the consumer.
  private var epoch: UInt32 = 0
  private var window = AckWindow()
  private var arrived: [Delivery] = []
  private var acks: AckSchedule
  private var events: [ConnectionEvent] = []
  /// The tag of the consumer at the broker, while there is one.
  private var tag: String?
  private var restartAt: Instant?
  /// The prefetch of the consumer that was started last.
  private var limit: Int
  /// Whether a consumer is wished for that waits for room.
  private var isHeldBack = false
  /// The wish that the last turn carried out.
  private var granted = ConsumerInbox.Wish.consuming
  private var stall: StallDetector

  init(
    inbox: ConsumerInbox, queue: String, lock: String? = nil, prefetch: Int, tag: String, gathering: Gathering,
    stallTimeout: Duration
  ) {
    self.inbox = inbox
    self.queue = queue
    self.lock = lock.map { ConsumerLock(queue: $0, consumed: queue) }
    self.prefetch = prefetch
    limit = prefetch
    self.wantedTag = tag
    acks = AckSchedule(gathering, prefetch: prefetch)
    stall = StallDetector(timeout: stallTimeout, now: .now)
  }

  var isDrained: Bool { !inbox.hasSettlements && window.finished == 0 }

  var openPhase: ConnectionStatus.Phase {
    if tag != nil { return .connected }
    return inbox.wish.limit(prefetch: prefetch) == nil || isHeldBack ? .paused : .connecting
  }

  func takeEvents() -> [ConnectionEvent] {
    guard !events.isEmpty else { return [] }
    defer { events = [] }
    return events
  }

  func opened(_ link: Link, now: Instant) throws(AMQPError) {
    epoch &+= 1
    // 0 is the tag of no channel.
    if epoch == 0 { epoch = 1 }
    restartAt = nil
    inbox.channelOpened(epoch)
    // Also when paused: what is missing is to be known at once.
    _ = try inspect(link)
    try lock?.take(link)
    try startIfWanted(link, now)
  }

  func received(_ event: ChannelEvent, _ link: Link, now: Instant) throws(AMQPError) {
    switch event {
    case .content(let content): try delivered(content, link, now)
    case .consumerCanceled:
      consumerCanceled(now)
      // The broker does not say whose consumer: perhaps the lock's, and then somebody else may have it.
      if let lock { throw lock.lost }
    case .confirm, .blocked, .unblocked, .reply: break
    }
  }

  func work(_ link: Link, now: Instant) throws(AMQPError) -> FollowUp {
    if tag == nil || window.outstanding >= limit { stall.healthy(now: now) }
    // First what makes room, for a consumer that waits for it.
    let next = try settle(link, now)
    try carryOutWish(link, now)
    handOver()
    return next
  }

  /// The broker canceled the consumer, e.g. because the queue was deleted.
  func consumerCanceled(_ now: Instant) {
    tag = nil
    restartAt = now + Self.restartDelay
    events.append(.consumerCanceled(queue: queue))
  }

  func due(isBlocked: Bool, now: Instant) -> Instant? {
    // A wish for no consumer may stand for hours, and one for a consumer may come at any time.
    var due = inbox.wish.limit(prefetch: prefetch) == nil ? nil : restartAt
    if let gapDue = acks.gapDue { due = min(due ?? .distant, gapDue) }
    if tag != nil, window.outstanding < limit { due = min(due ?? .distant, stall.due) }
    return due
  }

  func turnEnded() {
    inbox.grant(granted)
  }

  func tick(_ link: Link, now: Instant) throws(AMQPError) {
    if let restartAt, now >= restartAt, inbox.wish.limit(prefetch: prefetch) != nil {
      self.restartAt = nil
      _ = try inspect(link)
      try startIfWanted(link, now)
    }
    guard tag != nil, window.outstanding < limit else { return stall.healthy(now: now) }
    guard stall.isDue(now: now) else { return }
    let ready = try inspect(link)
    // A delivery that came in during the call proves health.
    let before = window.delivered
    try receivePending(link, now)
    guard window.delivered == before, stall.looked(ready: ready, now: now) else { return }
    events.append(.consumerStalled(queue: queue))
    throw AMQPError(.consumerStalled, "queue '\(queue)' has \(ready) messages ready but delivers none")
  }

  /// The deliveries are void with the channel, and a fault of ours would come back at once: reconnect with a delay.
  func mayReopen(after closure: Link.Closure) -> Bool { false }

  func lost(_ error: AMQPError) {
    inbox.channelLost()
    tag = nil
    isHeldBack = false
    window = AckWindow()
    acks.reset()
    arrived = []
    inbox.dropDeliveries()
    workOffline()
  }

  /// Without a channel nothing is consumed and nothing can be settled: the broker delivers everything again.
  func workOffline() {
    _ = inbox.takeSettlements()
    let wish = inbox.wish
    if wish >= .paused { inbox.grant(wish) }
  }

  func stopped(_ error: AMQPError) {
    inbox.channelLost()
    _ = inbox.takeSettlements()
    window = AckWindow()
    inbox.grant(inbox.wish)
    inbox.finish()
  }

  // MARK: - Consuming

  private func inspect(_ link: Link) throws(AMQPError) -> Int {
    do {
      return try link.inspectQueue(queue).messageCount
    } catch {
      throw QueueMissing.explain(error, queue: queue)
    }
  }

  private func consume(_ link: Link) throws(AMQPError) -> String {
    do {
      return try link.consume(queue, tag: wantedTag)
    } catch {
      throw QueueMissing.explain(error, queue: queue)
    }
  }

  /// Starts the consumer that is wished for, as soon as the callers have settled enough of what they have from those before:
  /// each gets a prefetch of its own, and callers have room for two.
  private func startIfWanted(_ link: Link, _ now: Instant) throws(AMQPError) {
    isHeldBack = false
    guard let wanted = inbox.wish.limit(prefetch: prefetch) else { return }
    isHeldBack = window.unacknowledged > prefetch
    guard !isHeldBack else { return }
    limit = wanted
    // It holds for consumers that are started after it.
    try link.setPrefetch(limit)
    window.startConsumer()
    tag = try consume(link)
    stall.healthy(now: now)
  }

  private func carryOutWish(_ link: Link, _ now: Instant) throws(AMQPError) {
    let wish = inbox.wish
    if let tag, wish.limit(prefetch: prefetch) != limit {
      self.tag = nil
      try link.cancelConsumer(tag)
      // All that was delivered before the answer is part of what has arrived.
      try receivePending(link, now)
      handOver()
    }
    if tag == nil, restartAt == nil { try startIfWanted(link, now) }
    granted = wish
  }

  private func receivePending(_ link: Link, _ now: Instant) throws(AMQPError) {
    while let event = link.pending.popFirst() { try received(event, link, now: now) }
  }

  private func delivered(_ content: FrameAssembler.Content, _ link: Link, _ now: Instant) throws(AMQPError) {
    guard case .delivery(let consumer, let number, let isRedelivered, let exchange, let routingKey) = content.start
    else { return }
    guard window.deliver(number) else {
      throw AMQPError(.protocolViolation, "delivery \(number) does not follow the one before")
    }
    if let lock, consumer == lock.tag { return try throwAway(number, link) }
    // RabbitMQ before 3.11 credits a consumer twice for a message that hits its delivery limit (rabbitmq-server 5609).
    guard window.outstanding <= limit else {
      throw AMQPError(.protocolViolation, "the broker sent more than the prefetch of \(limit) allows")
    }
    stall.healthy(now: now)
    arrived.append(
      Delivery(
        message: content.message, tag: DeliveryTag(epoch: epoch, number: number), isRedelivered: isRedelivered,
        exchange: exchange, routingKey: routingKey, bodyBytes: content.bodyBytes, isOversize: content.isOversize))
  }

  /// Settles what somebody wrote into the queue of the lock.
  private func throwAway(_ number: UInt64, _ link: Link) throws(AMQPError) {
    if window.reject(number) { try link.reject(number, requeue: false) }
  }

  private func handOver() {
    guard !arrived.isEmpty else { return }
    inbox.deliver(arrived)
    arrived.removeAll(keepingCapacity: true)
  }

  // MARK: - Settling

  private func settle(_ link: Link, _ now: Instant) throws(AMQPError) -> FollowUp {
    for settlement in inbox.takeSettlements() where settlement.tag.epoch == epoch {
      let number = settlement.tag.number
      switch settlement.kind {
      case .ack: window.finish(number)
      case .requeue: if window.reject(number) { try link.reject(number, requeue: true) }
      case .discard: if window.reject(number) { try link.reject(number, requeue: false) }
      }
    }
    guard window.finished > 0 else { return FollowUp() }
    acks.finished(at: now)
    let isClosing = inbox.wish == .closed
    if let rest = timeToFlush(now) { return FollowUp(after: rest) }
    acks.flushes(at: now)
    try acknowledge(window.flush(), link)
    if isClosing || acks.isGapDue(finished: window.finished, now: now) {
      try acknowledge(window.flush(all: true), link)
    }
    // The ticks see to what stays behind a gap.
    acks.flushed(behindGap: window.finished, now: now)
    return FollowUp()
  }

  /// - Returns: how long what is finished may wait for more yet; `nil` when it is to be acknowledged.
  private func timeToFlush(_ now: Instant) -> Duration? {
    // A stopping process may be gone soon, and the broker would deliver again what is not acknowledged.
    if inbox.wish >= .stopped { return nil }
    return acks.rest(
      finished: window.finished, unacknowledged: window.unacknowledged, limit: limit, now: now)
  }

  private func acknowledge(_ flush: AckWindow.Flush, _ link: Link) throws(AMQPError) {
    if let upTo = flush.upTo { try link.acknowledge(upTo, multiple: true) }
    let isBatch = flush.alone.count > 2
    if isBatch { link.socket.setCork(true) }
    defer { if isBatch { link.socket.setCork(false) } }
    for number in flush.alone { try link.acknowledge(number, multiple: false) }
  }
}
