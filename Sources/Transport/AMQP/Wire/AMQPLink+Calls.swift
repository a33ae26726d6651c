import CountersignCRabbitMQ
import CountersignConcurrency

extension AMQPLink {
  /// Events that arrive in between are kept in `pending`.
  private func call<Arguments, R>(
    _ method: amqp_method_number_t, _ arguments: Arguments, _ name: StaticString,
    _ answer: (ChannelEvent) -> R?
  ) throws(AMQPError) -> R {
    var arguments = arguments
    let status = withUnsafeMutableBytes(of: &arguments) {
      amqp_send_method(connection, Self.channel, method, $0.baseAddress)
    }
    try check(status)
    let deadline = ContinuousClock.now + options.rpcTimeout
    var result: R?
    while result == nil {
      let remaining = ContinuousClock.now.duration(to: deadline)
      guard remaining > .zero else {
        throw AMQPError(.timedOut, "no answer to \(name) within \(options.rpcTimeout)")
      }
      _ = try readFrame(wait: remaining) { event throws(AMQPError) in
        if let value = answer(event) { result = value } else { pending.append(event) }
      }
    }
    guard let result else { preconditionFailure("the loop ends with a result only") }
    return result
  }

  private func call<Arguments>(
    _ method: amqp_method_number_t, _ arguments: Arguments, _ name: StaticString,
    ok: amqp_method_number_t
  ) throws(AMQPError) {
    try call(method, arguments, name) { event in
      if case .reply(.ok(method: ok)) = event { () } else { nil }
    }
  }

  func openChannel() throws(AMQPError) {
    closure = nil
    pending = RingBuffer()
    assembler = FrameAssembler(maxBodyBytes: options.maxBodyBytes)
    try call(cs_channel_open, amqp_channel_open_t(), "channel.open", ok: cs_channel_open_ok)
  }

  func selectConfirms() throws(AMQPError) {
    try call(cs_confirm_select, amqp_confirm_select_t(), "confirm.select", ok: cs_confirm_select_ok)
  }

  /// Limits the unacknowledged deliveries of consumers started afterwards.
  func setPrefetch(_ count: Int) throws(AMQPError) {
    var arguments = amqp_basic_qos_t()
    arguments.prefetch_count = UInt16(clamping: count)
    try call(cs_basic_qos, arguments, "basic.qos", ok: cs_basic_qos_ok)
  }

  func consume(
    _ queue: String, tag: String, noAck: Bool = false, isExclusive: Bool = false
  ) throws(AMQPError) -> String {
    let encoder = encoder()
    var arguments = amqp_basic_consume_t()
    arguments.queue = try encoder.bytes(queue)
    arguments.consumer_tag = try encoder.bytes(tag)
    arguments.no_ack = noAck ? 1 : 0
    arguments.exclusive = isExclusive ? 1 : 0
    return try call(cs_basic_consume, arguments, "basic.consume") { event in
      if case .reply(.consuming(let tag)) = event { tag } else { nil }
    }
  }

  func cancelConsumer(_ tag: String) throws(AMQPError) {
    var arguments = amqp_basic_cancel_t()
    arguments.consumer_tag = try encoder().bytes(tag)
    try call(cs_basic_cancel, arguments, "basic.cancel", ok: cs_basic_cancel_ok)
  }

  func declareExchange(
    _ name: String, type: String, isPassive: Bool, isDurable: Bool, arguments fields: [String: FieldValue]
  ) throws(AMQPError) {
    let encoder = encoder()
    var arguments = amqp_exchange_declare_t()
    arguments.exchange = try encoder.bytes(name)
    arguments.type = try encoder.bytes(type)
    arguments.passive = isPassive ? 1 : 0
    arguments.durable = isDurable ? 1 : 0
    arguments.arguments = try encoder.table(fields)
    try call(cs_exchange_declare, arguments, "exchange.declare", ok: cs_exchange_declare_ok)
  }

  func deleteExchange(_ name: String) throws(AMQPError) {
    var arguments = amqp_exchange_delete_t()
    arguments.exchange = try encoder().bytes(name)
    try call(cs_exchange_delete, arguments, "exchange.delete", ok: cs_exchange_delete_ok)
  }

  func declareQueue(_ queue: AMQPQueueDeclaration) throws(AMQPError) -> DeclaredQueue {
    let encoder = encoder()
    var arguments = amqp_queue_declare_t()
    arguments.queue = try encoder.bytes(queue.name)
    arguments.passive = queue.isPassive ? 1 : 0
    arguments.durable = queue.isDurable ? 1 : 0
    arguments.exclusive = queue.isExclusive ? 1 : 0
    arguments.auto_delete = queue.isAutoDeleted ? 1 : 0
    arguments.arguments = try encoder.table(queue.arguments)
    return try call(cs_queue_declare, arguments, "queue.declare") { event in
      guard case .reply(.queueDeclared(let name, let messages, let consumers)) = event else { return nil }
      return DeclaredQueue(name: name, messageCount: messages, consumerCount: consumers)
    }
  }

  /// A missing one closes the channel.
  func inspectQueue(_ name: String) throws(AMQPError) -> DeclaredQueue {
    try declareQueue(AMQPQueueDeclaration(name: name, isPassive: true))
  }

  func bindQueue(
    _ queue: String, exchange: String, routingKey: String, arguments fields: [String: FieldValue]
  ) throws(AMQPError) {
    let encoder = encoder()
    var arguments = amqp_queue_bind_t()
    arguments.queue = try encoder.bytes(queue)
    arguments.exchange = try encoder.bytes(exchange)
    arguments.routing_key = try encoder.bytes(routingKey)
    arguments.arguments = try encoder.table(fields)
    try call(cs_queue_bind, arguments, "queue.bind", ok: cs_queue_bind_ok)
  }

  func unbindQueue(
    _ queue: String, exchange: String, routingKey: String, arguments fields: [String: FieldValue]
  ) throws(AMQPError) {
    let encoder = encoder()
    var arguments = amqp_queue_unbind_t()
    arguments.queue = try encoder.bytes(queue)
    arguments.exchange = try encoder.bytes(exchange)
    arguments.routing_key = try encoder.bytes(routingKey)
    arguments.arguments = try encoder.table(fields)
    try call(cs_queue_unbind, arguments, "queue.unbind", ok: cs_queue_unbind_ok)
  }

  func purgeQueue(_ name: String) throws(AMQPError) -> Int {
    var arguments = amqp_queue_purge_t()
    arguments.queue = try encoder().bytes(name)
    return try call(cs_queue_purge, arguments, "queue.purge", Self.messages)
  }

  func deleteQueue(_ name: String, ifUnused: Bool, ifEmpty: Bool) throws(AMQPError) -> Int {
    var arguments = amqp_queue_delete_t()
    arguments.queue = try encoder().bytes(name)
    arguments.if_unused = ifUnused ? 1 : 0
    arguments.if_empty = ifEmpty ? 1 : 0
    return try call(cs_queue_delete, arguments, "queue.delete", Self.messages)
  }

  func get(_ queue: String) throws(AMQPError) -> FrameAssembler.Content? {
    var arguments = amqp_basic_get_t()
    arguments.queue = try encoder().bytes(queue)
    return try call(cs_basic_get, arguments, "basic.get") { event -> FrameAssembler.Content?? in
      switch event {
      case .reply(.nothingToGet): .some(nil)
      case .content(let content):
        if case .got = content.start { .some(content) } else { nil }
      default: nil
      }
    }
  }

  func nextEvent(_ waitingFor: StaticString) throws(AMQPError) -> ChannelEvent {
    if let event = pending.popFirst() { return event }
    let deadline = ContinuousClock.now + options.rpcTimeout
    var result: ChannelEvent?
    while result == nil {
      let remaining = ContinuousClock.now.duration(to: deadline)
      guard remaining > .zero else {
        throw AMQPError(.timedOut, "no \(waitingFor) within \(options.rpcTimeout)")
      }
      _ = try readFrame(wait: remaining) { event throws(AMQPError) in result = event }
    }
    guard let result else { preconditionFailure("the loop ends with a result only") }
    return result
  }

  /// Its close-ok proves that the broker has read all earlier methods.
  func closeChannel() throws(AMQPError) {
    var arguments = amqp_channel_close_t()
    arguments.reply_code = 200
    try call(cs_channel_close, arguments, "channel.close", ok: cs_channel_close_ok)
  }

  /// Only for a connection without errors.
  func close() throws(AMQPError) {
    if closure == nil { try closeChannel() }
    // The library's own call will do: no other event matters now, and its time-out is `rpcTimeout`.
    let reply = amqp_connection_close(connection, 200)
    guard reply.reply_type == AMQP_RESPONSE_NORMAL else {
      throw AMQPError(.connectionLost, "the connection ended before its close was confirmed")
    }
  }

  func encoder() -> PropertyEncoder {
    recycle_amqp_pool(pool)
    return PropertyEncoder(pool: pool)
  }

  private static func messages(_ event: ChannelEvent) -> Int? {
    if case .reply(.messages(let count)) = event { count } else { nil }
  }
}
