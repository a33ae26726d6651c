import CountersignCRabbitMQ
import CountersignConcurrency

/// An event from the broker, copied out of the library's memory.
enum ChannelEvent {
  /// A complete message: delivered, returned or fetched.
  case content(FrameAssembler.Content)
  /// `basic.ack` or `basic.nack` of publishes.
  case confirm(tag: UInt64, multiple: Bool, isAck: Bool)
  /// `basic.cancel`: the broker canceled the consumer.
  case consumerCanceled
  case blocked(reason: String)
  case unblocked
  case reply(Reply)

  enum Reply: Equatable {
    case ok(method: UInt32)
    case queueDeclared(name: String, messages: Int, consumers: Int)
    case messages(Int)
    case consuming(tag: String)
    case nothingToGet
  }
}

extension AMQPLink {
  /// Handles the events that have arrived, without waiting for more. Also sends and checks heartbeats.
  func read(
    limit: Int, _ handle: (ChannelEvent) throws(AMQPError) -> Void
  ) throws(AMQPError) -> Bool {
    while let event = pending.popFirst() { try handle(event) }
    for _ in 0..<limit {
      guard try readFrame(wait: .zero, handle) else { return false }
    }
    return true
  }

  func readFrame(
    wait: Duration, _ handle: (ChannelEvent) throws(AMQPError) -> Void
  ) throws(AMQPError) -> Bool {
    var frame = amqp_frame_t()
    var timeout = timeval(wait)
    let status = amqp_simple_wait_frame_noblock(connection, &frame, &timeout)
    watchdog.step()
    guard status != AMQP_STATUS_TIMEOUT.rawValue else { return false }
    guard status == AMQP_STATUS_OK.rawValue else { throw error(status) }
    // The event is a copy: the frame's memory is released below.
    let event: ChannelEvent?
    switch Int32(frame.frame_type) {
    case AMQP_FRAME_METHOD: event = try decode(frame.payload.method)
    case AMQP_FRAME_HEADER: event = try header(frame)
    case AMQP_FRAME_BODY:
      event = try assembler.body(UnsafeRawBufferPointer(frame.payload.body_fragment)).map { .content($0) }
    default: event = nil
    }
    amqp_maybe_release_buffers_on_channel(connection, frame.channel)
    if let event { try handle(event) }
    return true
  }

  private func header(_ frame: amqp_frame_t) throws(AMQPError) -> ChannelEvent? {
    guard let decoded = frame.payload.properties.decoded else { return nil }
    let properties = decoded.assumingMemoryBound(to: amqp_basic_properties_t.self).pointee
    return try assembler.header(Message(properties, &texts), bodyBytes: frame.payload.properties.body_size)
      .map { .content($0) }
  }

  private func decode(_ method: amqp_method_t) throws(AMQPError) -> ChannelEvent? {
    switch method.id {
    case cs_basic_deliver:
      let deliver = method.as(amqp_basic_deliver_t.self)
      try assembler.begin(
        .delivery(
          consumer: texts.consumer.read(deliver.consumer_tag), number: deliver.delivery_tag,
          isRedelivered: deliver.redelivered != 0, exchange: texts.exchange.read(deliver.exchange),
          routingKey: texts.routingKey.read(deliver.routing_key)))
      return nil
    case cs_basic_return:
      let returned = method.as(amqp_basic_return_t.self)
      try assembler.begin(
        .returned(
          code: Int(returned.reply_code), text: String(returned.reply_text), exchange: String(returned.exchange),
          routingKey: String(returned.routing_key)))
      return nil
    case cs_basic_get_ok:
      let got = method.as(amqp_basic_get_ok_t.self)
      try assembler.begin(
        .got(
          number: got.delivery_tag, isRedelivered: got.redelivered != 0, exchange: String(got.exchange),
          routingKey: String(got.routing_key), remaining: Int(got.message_count)))
      return nil
    case cs_basic_ack:
      let ack = method.as(amqp_basic_ack_t.self)
      return .confirm(tag: ack.delivery_tag, multiple: ack.multiple != 0, isAck: true)
    case cs_basic_nack:
      let nack = method.as(amqp_basic_nack_t.self)
      return .confirm(tag: nack.delivery_tag, multiple: nack.multiple != 0, isAck: false)
    case cs_basic_cancel: return .consumerCanceled
    case cs_connection_blocked:
      isBlocked = true
      return .blocked(reason: String(method.as(amqp_connection_blocked_t.self).reason))
    case cs_connection_unblocked:
      isBlocked = false
      return .unblocked
    case cs_channel_close, cs_connection_close: throw closed(method)
    default: return .reply(reply(method))
    }
  }

  private func reply(_ method: amqp_method_t) -> ChannelEvent.Reply {
    switch method.id {
    case cs_queue_declare_ok:
      let declared = method.as(amqp_queue_declare_ok_t.self)
      return .queueDeclared(
        name: String(declared.queue), messages: Int(declared.message_count), consumers: Int(declared.consumer_count))
    case cs_queue_purge_ok: return .messages(Int(method.as(amqp_queue_purge_ok_t.self).message_count))
    case cs_queue_delete_ok: return .messages(Int(method.as(amqp_queue_delete_ok_t.self).message_count))
    case cs_basic_consume_ok: return .consuming(tag: String(method.as(amqp_basic_consume_ok_t.self).consumer_tag))
    case cs_basic_get_empty: return .nothingToGet
    default: return .ok(method: method.id)
    }
  }

  /// Confirms that the broker closes the channel or the connection, and returns its reason.
  private func closed(_ method: amqp_method_t) -> AMQPError {
    // Both methods have the same fields in the same order, but not the same type.
    if method.id == cs_connection_close {
      let close = method.as(amqp_connection_close_t.self)
      var agreed = amqp_connection_close_ok_t()
      // The connection is lost whether or not this arrives.
      _ = amqp_send_method(connection, 0, cs_connection_close_ok, &agreed)
      let error = ReplyCodes.error(Int(close.reply_code), String(close.reply_text))
      connectionClosure = error
      return error
    }
    let close = method.as(amqp_channel_close_t.self)
    let error = ReplyCodes.error(Int(close.reply_code), String(close.reply_text))
    var agreed = amqp_channel_close_ok_t()
    let status = amqp_send_method(connection, Self.channel, cs_channel_close_ok, &agreed)
    if status == AMQP_STATUS_OK.rawValue {
      closure = Closure(error: error, method: UInt32(close.class_id) << 16 | UInt32(close.method_id))
      assembler = FrameAssembler(maxBodyBytes: options.maxBodyBytes)
    }
    return error
  }
}

extension amqp_method_t {
  /// The decoded method as the structure for its `id`.
  func `as`<T: BitwiseCopyable>(_ type: T.Type) -> T {
    guard let decoded else { preconditionFailure("the library hands over no method without its fields") }
    return decoded.assumingMemoryBound(to: type).pointee
  }
}
