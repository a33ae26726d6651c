import CountersignConcurrency

/// Consumes one queue: passes deliveries on in batches, groups acknowledgements, and detects a consumer that the broker
/// has forgotten.
final class ConsumerRole: ChannelRole {
  static let restartDelay: Duration = .milliseconds(500)

  private let inbox: ConsumerInbox
  /// Changes with each connection for a queue of the consumer's own.
  private var queue: String
  private let own: Consumer.OwnQueue?
  private let lock: ConsumerLock?
  private let source: String?
  private let prefetch: Int
  private let wantedTag: String
  /// Number of the channel over the life of the consumer. A further one once all was returned.
  private var epoch: UInt32 = 0
  private var window = AckWindow()
  private var arrived: [Delivery] = []
  private var acks: AckSchedule
  private var events: [ConnectionEvent] = []
  private var tag: String?
  private var restartAt: Instant?
  /// Prefetch of the consumer started last.
  private var limit: Int
  private var isHeldBack = false
  /// Wish carried out by the last turn.
  private var granted = ConsumerInbox.Wish.consuming
  private var stall: StallDetector

  init(inbox: ConsumerInbox, subscription: Consumer.Subscription) {
    self.inbox = inbox
    queue = subscription.queue
    own = subscription.own
    lock = subscription.lock.map {
      ConsumerLock(queue: $0, consumed: subscription.queue, isShared: subscription.isLockShared)
    }
    source = subscription.source
    prefetch = subscription.prefetch
    limit = subscription.prefetch
    wantedTag = subscription.tag
    acks = AckSchedule(subscription.gathering, prefetch: subscription.prefetch)
    stall = StallDetector(timeout: subscription.stallTimeout, now: .now)
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

  func opened(_ link: AMQPLink, now: Instant) throws(AMQPError) {
    restartAt = nil
    beginEpoch()
    if let own {
      queue = try declare(own, link)
    } else {
      // Also while paused: a missing queue is reported at once.
      _ = try inspect(link)
    }
    try lock?.take(link)
    try startIfWanted(link, now)
  }

  private func beginEpoch() {
    epoch &+= 1
    // 0 stands for "no channel".
    if epoch == 0 { epoch = 1 }
    inbox.channelOpened(epoch)
  }

  func received(_ event: ChannelEvent, _ link: AMQPLink, now: Instant) throws(AMQPError) {
    switch event {
    case .content(let content): try delivered(content, link, now)
    case .consumerCanceled:
      consumerCanceled(now)
      // The broker does not name the consumer; if it was the lock's, another process may have taken the lock.
      if let lock { throw lock.lost }
    case .confirm, .blocked, .unblocked, .reply: break
    }
  }

  func work(_ link: AMQPLink, now: Instant) throws(AMQPError) -> FollowUp {
    if tag == nil || window.outstanding >= limit { stall.recordHealth(now: now) }
    // First settle: that makes room for a consumer that waits for it.
    let next = try settle(link, now)
    try carryOutWish(link, now)
    handOver()
    return next
  }

  func consumerCanceled(_ now: Instant) {
    tag = nil
    restartAt = now + Self.restartDelay
    events.append(.consumerCanceled(queue: queue))
  }

  func due(isBlocked: Bool, now: Instant) -> Instant? {
    // A pause may last for hours, and `resume` starts a turn anyway.
    var due = inbox.wish.limit(prefetch: prefetch) == nil ? nil : restartAt
    if let gapDue = acks.gapDue { due = min(due ?? .distant, gapDue) }
    if tag != nil, window.outstanding < limit { due = min(due ?? .distant, stall.due) }
    return due
  }

  func turnEnded() {
    inbox.grant(granted)
  }

  func tick(_ link: AMQPLink, now: Instant) throws(AMQPError) {
    if let restartAt, now >= restartAt, inbox.wish.limit(prefetch: prefetch) != nil {
      self.restartAt = nil
      _ = try inspect(link)
      try startIfWanted(link, now)
    }
    guard tag != nil, window.outstanding < limit else { return stall.recordHealth(now: now) }
    guard stall.isDue(now: now) else { return }
    let ready = try inspect(link)
    // A delivery received during the call proves that the consumer works.
    let before = window.delivered
    try receivePending(link, now)
    guard window.delivered == before, stall.recordCheck(ready: ready, now: now) else { return }
    events.append(.consumerStalled(queue: queue))
    throw AMQPError(.consumerStalled, "queue '\(queue)' has \(ready) messages ready but delivers none")
  }

  /// The deliveries are void with the channel, and an error on this side would recur at once: reconnect with a delay.
  func mayReopen(after closure: AMQPLink.Closure) -> Bool { false }

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

  private func declare(_ own: Consumer.OwnQueue, _ link: AMQPLink) throws(AMQPError) -> String {
    let arguments: [String: FieldValue] = ["x-max-length": .int(Int64(own.maxLength)), "x-overflow": "drop-head"]
    let name = try link.declareQueue(
      AMQPQueueDeclaration(name: "", isDurable: false, isExclusive: true, arguments: arguments)
    ).name
    try link.bindQueue(name, exchange: own.exchange, routingKey: own.routingKey, arguments: [:])
    return name
  }

  private func inspect(_ link: AMQPLink) throws(AMQPError) -> Int {
    do {
      let count = try link.inspectQueue(queue).messageCount
      // Also after a silence: somebody may have removed it.
      if let source { try link.bindQueue(queue, exchange: source, routingKey: "#", arguments: [:]) }
      return count
    } catch {
      throw QueueMissing.explain(error, queue: queue)
    }
  }

  private func consume(_ link: AMQPLink) throws(AMQPError) -> String {
    do {
      return try link.consume(queue, tag: wantedTag)
    } catch {
      throw QueueMissing.explain(error, queue: queue)
    }
  }

  /// Starts the wanted consumer once the callers have settled enough deliveries of earlier ones: each consumer has a
  /// prefetch of its own, and callers have room for two.
  private func startIfWanted(_ link: AMQPLink, _ now: Instant) throws(AMQPError) {
    isHeldBack = false
    guard let wanted = inbox.wish.limit(prefetch: prefetch) else { return }
    isHeldBack = window.unacknowledged > prefetch
    guard !isHeldBack else { return }
    limit = wanted
    // Applies to consumers started afterwards.
    try link.setPrefetch(limit)
    window.startConsumer()
    tag = try consume(link)
    stall.recordHealth(now: now)
  }

  private func carryOutWish(_ link: AMQPLink, _ now: Instant) throws(AMQPError) {
    let wish = inbox.wish
    if let tag, wish.limit(prefetch: prefetch) != limit {
      self.tag = nil
      try link.cancelConsumer(tag)
      // The answer comes after the last delivery of the canceled consumer.
      try receivePending(link, now)
      handOver()
    }
    if wish == .aside { try returnAll(link) }
    if tag == nil, restartAt == nil { try startIfWanted(link, now) }
    granted = wish
  }

  private func returnAll(_ link: AMQPLink) throws(AMQPError) {
    inbox.dropDeliveries()
    try acknowledge(window.flush(all: true), link)
    acks.reset()
    guard window.unacknowledged > 0 else { return }
    try link.returnAll()
    window.returnAll()
    beginEpoch()
  }

  private func receivePending(_ link: AMQPLink, _ now: Instant) throws(AMQPError) {
    while let event = link.pending.popFirst() { try received(event, link, now: now) }
  }

  private func delivered(_ content: FrameAssembler.Content, _ link: AMQPLink, _ now: Instant) throws(AMQPError) {
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
    stall.recordHealth(now: now)
    arrived.append(
      Delivery(
        message: content.message, tag: DeliveryTag(epoch: epoch, number: number), isRedelivered: isRedelivered,
        exchange: exchange, routingKey: routingKey, bodyBytes: content.bodyBytes, isOversize: content.isOversize))
  }

  /// Rejects a message that was written into the lock's queue.
  private func throwAway(_ number: UInt64, _ link: AMQPLink) throws(AMQPError) {
    if window.reject(number) { try link.reject(number, requeue: false) }
  }

  private func handOver() {
    guard !arrived.isEmpty else { return }
    inbox.deliver(arrived)
    arrived.removeAll(keepingCapacity: true)
  }

  // MARK: - Settling

  private func settle(_ link: AMQPLink, _ now: Instant) throws(AMQPError) -> FollowUp {
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
    // Deliveries behind a gap are left to the ticks.
    acks.flushed(behindGap: window.finished, now: now)
    return FollowUp()
  }

  private func timeToFlush(_ now: Instant) -> Duration? {
    // A stopping process may end soon, and the broker would repeat deliveries that are not acknowledged.
    if inbox.wish >= .stopped { return nil }
    return acks.rest(
      finished: window.finished, unacknowledged: window.unacknowledged, limit: limit, now: now)
  }

  private func acknowledge(_ flush: AckWindow.Flush, _ link: AMQPLink) throws(AMQPError) {
    if let upTo = flush.upTo { try link.acknowledge(upTo, multiple: true) }
    let isBatch = flush.alone.count > 2
    if isBatch { link.socket.setCork(true) }
    defer { if isBatch { link.socket.setCork(false) } }
    for number in flush.alone { try link.acknowledge(number, multiple: false) }
  }
}
