import CountersignConcurrency
import Dispatch

/// A connection for tools: declares the topology, inspects queues and moves single messages.
///
/// It does not reconnect, because a tool can be started again. A refusal by the broker closes the channel; the next
/// call opens a new one, and unsettled deliveries of the old one are back in their queue.
public actor AdminConnection {
  /// Heartbeats are at least 1 s apart.
  private static let heartbeatInterval: DispatchTimeInterval = .milliseconds(250)

  /// User that logs in.
  public nonisolated let user: String
  private nonisolated let executor: SerialQueueExecutor
  private let options: ConnectionOptions
  private var link: AMQPLink?
  private var failure: AMQPError?
  private var epoch: UInt32 = 1
  private var hasConfirms = false
  /// Number of publishes on this channel, as counted by the broker.
  private var published: UInt64 = 0

  public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private init(user: String, options: ConnectionOptions) {
    self.user = user
    executor = SerialQueueExecutor(label: "amqp.\(options.name)")
    self.options = options
  }

  /// Connects and logs in: at the first host that lets it, in random order.
  ///
  /// - Throws: the reason of the failure, with several hosts the reasons of all; no host is tried twice.
  public static func open(
    endpoint: BrokerEndpoint, options: ConnectionOptions
  ) async throws(AMQPError) -> AdminConnection {
    let connection = AdminConnection(user: endpoint.username, options: options)
    try await connection.connect(endpoint)
    return connection
  }

  /// Properties the broker announces: `product`, `version`, `cluster_name`, `platform` and more.
  public private(set) var serverProperties: [String: FieldValue] = [:]

  /// Host that it is connected to.
  public private(set) var host: BrokerHost?

  // MARK: - Topology

  /// Declares a durable exchange.
  ///
  /// - Parameters:
  ///   - type: `direct`, `fanout`, `topic` or `headers`.
  ///   - passive: whether it must exist already; the other settings are then ignored.
  public func declareExchange(
    _ name: String, type: String, passive: Bool = false, arguments: [String: FieldValue] = [:]
  ) throws(AMQPError) {
    try check([name, type], arguments)
    try perform { link throws(AMQPError) in
      try link.declareExchange(name, type: type, isPassive: passive, isDurable: true, arguments: arguments)
    }
  }

  /// Declares a queue.
  ///
  /// - Parameters:
  ///   - name: queue name; if empty, the broker chooses one.
  ///   - passive: whether it must exist already; the other settings are then ignored.
  @discardableResult
  public func declareQueue(
    _ name: String, arguments: [String: FieldValue] = [:], passive: Bool = false, durable: Bool = true,
    exclusive: Bool = false, autoDelete: Bool = false
  ) throws(AMQPError) -> DeclaredQueue {
    try check([name], arguments)
    let queue = AMQPQueueDeclaration(
      name: name, isPassive: passive, isDurable: durable, isExclusive: exclusive, isAutoDeleted: autoDelete,
      arguments: arguments)
    return try perform(queue: name) { link throws(AMQPError) in try link.declareQueue(queue) }
  }

  public func bindQueue(
    _ queue: String, exchange: String, routingKey: String, arguments: [String: FieldValue] = [:]
  ) throws(AMQPError) {
    try check([queue, exchange, routingKey], arguments)
    try perform(queue: queue) { link throws(AMQPError) in
      try link.bindQueue(queue, exchange: exchange, routingKey: routingKey, arguments: arguments)
    }
  }

  public func unbindQueue(
    _ queue: String, exchange: String, routingKey: String, arguments: [String: FieldValue] = [:]
  ) throws(AMQPError) {
    try check([queue, exchange, routingKey], arguments)
    try perform(queue: queue) { link throws(AMQPError) in
      try link.unbindQueue(queue, exchange: exchange, routingKey: routingKey, arguments: arguments)
    }
  }

  /// - Returns: number of messages deleted with it.
  @discardableResult
  public func deleteQueue(_ name: String, ifUnused: Bool = false, ifEmpty: Bool = false) throws(AMQPError) -> Int {
    try check([name])
    return try perform(queue: name) { link throws(AMQPError) in
      try link.deleteQueue(name, ifUnused: ifUnused, ifEmpty: ifEmpty)
    }
  }

  public func deleteExchange(_ name: String) throws(AMQPError) {
    try check([name])
    try perform { link throws(AMQPError) in try link.deleteExchange(name) }
  }

  /// - Returns: number of deleted messages.
  @discardableResult
  public func purge(_ queue: String) throws(AMQPError) -> Int {
    try check([queue])
    return try perform(queue: queue) { link throws(AMQPError) in try link.purgeQueue(queue) }
  }

  // MARK: - Messages

  /// Takes the first message of a queue, which must then be acknowledged or rejected.
  ///
  /// - Returns: the message and the number of messages that remain ready, or `nil` if the queue is empty.
  public func get(_ queue: String) throws(AMQPError) -> (delivery: Delivery, remaining: Int)? {
    try check([queue])
    let content = try perform(queue: queue) { link throws(AMQPError) in try link.get(queue) }
    guard let content,
      case .got(let number, let isRedelivered, let exchange, let routingKey, let remaining) = content.start
    else { return nil }
    let delivery = Delivery(
      message: content.message, tag: DeliveryTag(epoch: epoch, number: number), isRedelivered: isRedelivered,
      exchange: exchange, routingKey: routingKey, bodyBytes: content.bodyBytes, isOversize: content.isOversize)
    return (delivery, remaining)
  }

  /// Acknowledges a message taken by `get`. Tags of a closed channel are ignored.
  public func ack(_ tag: DeliveryTag) throws(AMQPError) {
    guard isCurrent(tag) else { return }
    try perform { link throws(AMQPError) in try link.acknowledge(tag.number, multiple: false) }
  }

  /// Returns a message taken by `get`. Tags of a closed channel are ignored.
  ///
  /// - Parameter requeue: whether it goes back to the queue; otherwise it goes to the dead letter exchange.
  public func reject(_ tag: DeliveryTag, requeue: Bool) throws(AMQPError) {
    guard isCurrent(tag) else { return }
    try perform { link throws(AMQPError) in try link.reject(tag.number, requeue: requeue) }
  }

  /// Publishes and waits for the confirm.
  public func publish(_ publication: Publication) throws(AMQPError) -> PublishOutcome {
    try WireLimits.check(publication, maxBodyBytes: options.maxBodyBytes)
    return try perform { link throws(AMQPError) in
      guard !link.isBlocked else { throw AMQPError(.blocked, "the broker accepts no messages for now") }
      if !hasConfirms {
        try link.selectConfirms()
        hasConfirms = true
      }
      try link.publish(publication)
      published += 1
      return try outcome(link)
    }
  }

  /// Closes channel and connection. When it returns, the broker has read all acknowledgements.
  public func close() throws(AMQPError) {
    guard let link else { return }
    self.link = nil
    failure = AMQPError(.closed, "the connection was closed")
    link.watchdog.enter()
    defer { link.watchdog.leave() }
    try link.close()
  }

  // MARK: - Inside

  private func connect(_ endpoint: BrokerEndpoint) throws(AMQPError) {
    var generator = SystemRandomNumberGenerator()
    var rotation = HostRotation(endpoint.hosts, delays: options.reconnectDelay, using: &generator)
    var reasons: [String] = []
    while true {
      let host = rotation.host
      do {
        return try connect(endpoint.at(host), within: rotation.timeout(options))
      } catch {
        reasons.append(error.message)
        _ = rotation.failed(error, random: 0)
        guard reasons.count == endpoint.hosts.count else { continue }
        let shown = rotation.shown(error, at: host).error
        throw reasons.count == 1
          ? error
          : AMQPError(
            shown.code, "no host of the broker can be used: \(reasons.joined(separator: "; "))",
            replyCode: shown.replyCode)
      }
    }
  }

  private func connect(_ endpoint: BrokerEndpoint, within limit: Duration?) throws(AMQPError) {
    let link = try AMQPLink.open(endpoint, options, within: limit)
    link.watchdog.enter()
    defer { link.watchdog.leave() }
    try link.openChannel()
    serverProperties = link.serverProperties
    host = endpoint.hosts[0]
    self.link = link
    serviceLater()
  }

  private func perform<R>(
    queue: String? = nil, _ body: (AMQPLink) throws(AMQPError) -> R
  ) throws(AMQPError) -> R {
    guard let link else { throw failure ?? AMQPError(.closed, "the connection is not open") }
    link.watchdog.enter()
    defer { link.watchdog.leave() }
    do {
      if link.closure != nil { try reopen(link) }
      return try body(link)
    } catch {
      // A closed channel can be reopened; after any other error the state of the connection is unknown.
      if link.closure == nil, error.code != .blocked { fail(error) }
      guard let queue else { throw error }
      throw QueueMissing.explain(error, queue: queue)
    }
  }

  private func isCurrent(_ tag: DeliveryTag) -> Bool { tag.epoch == epoch && link?.closure == nil }

  private func reopen(_ link: AMQPLink) throws(AMQPError) {
    try link.openChannel()
    epoch += 1
    hasConfirms = false
    published = 0
  }

  private func outcome(_ link: AMQPLink) throws(AMQPError) -> PublishOutcome {
    var returned: PublishOutcome?
    while true {
      switch try link.nextEvent("confirm") {
      case .content(let content):
        if case .returned(let code, let text, _, _) = content.start { returned = .returned(code: code, text: text) }
      case .confirm(let tag, let multiple, let isAck) where tag == published || (multiple && tag > published):
        return returned ?? (isAck ? .confirmed : .nacked)
      case .blocked(let reason): throw AMQPError(.blocked, "the broker accepts no messages for now: \(reason)")
      case .confirm, .consumerCanceled, .unblocked, .reply: break
      }
    }
  }

  private func fail(_ error: AMQPError) {
    failure = error
    link = nil
  }

  private func serviceLater() {
    executor.queue.asyncAfter(deadline: .now() + Self.heartbeatInterval) { [weak self] in
      self?.assumeIsolated { $0.service() }
    }
  }

  private func service() {
    guard let link else { return }
    link.watchdog.enter()
    defer { link.watchdog.leave() }
    do {
      _ = try link.read(limit: 64) { _ throws(AMQPError) in }
    } catch {
      if link.closure == nil { return fail(error) }
    }
    serviceLater()
  }

  private func check(_ names: [String], _ arguments: [String: FieldValue] = [:]) throws(AMQPError) {
    for name in names { try WireLimits.check(name, "the name '\(name.prefix(32))...'") }
    try WireLimits.check(table: arguments)
  }
}
