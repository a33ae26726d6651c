import CountersignCRabbitMQ

extension AMQPLink {
  /// Sends a message, which must be within `WireLimits`: one that fails half-way ruins the channel. Blocks while the
  /// socket is full; the watchdog bounds that.
  func publish(_ publication: Publication) throws(AMQPError) {
    let isMandatory = publication.mandatory && !Self.isDirectReply(publication)
    let encoder = encoder()
    var properties = try encoder.properties(publication.message)
    let exchange = try encoder.bytes(publication.exchange)
    let routingKey = try encoder.bytes(publication.routingKey)
    let status = publication.message.body.withUnsafeBytes { body in
      amqp_basic_publish(
        connection, Self.channel, exchange, routingKey, isMandatory ? 1 : 0, 0, &properties,
        amqp_bytes_t(len: body.count, bytes: UnsafeMutableRawPointer(mutating: body.baseAddress)))
    }
    try check(status)
  }

  /// The broker returns each mandatory message to a direct reply-to address, even if it has delivered it
  /// (RabbitMQ, "Direct Reply-to", caveats).
  private static func isDirectReply(_ publication: Publication) -> Bool {
    publication.exchange.isEmpty && publication.routingKey.hasPrefix(RequestRole.replyQueue)
  }

  func acknowledge(_ tag: UInt64, multiple: Bool) throws(AMQPError) {
    try check(amqp_basic_ack(connection, Self.channel, tag, multiple ? 1 : 0))
  }

  func reject(_ tag: UInt64, requeue: Bool) throws(AMQPError) {
    try check(amqp_basic_reject(connection, Self.channel, tag, requeue ? 1 : 0))
  }

  /// Returns all unsettled deliveries of the channel to their queue: tag 0 stands for all (AMQP 0-9-1, `basic.nack`).
  func returnAll() throws(AMQPError) {
    try check(amqp_basic_nack(connection, Self.channel, 0, 1, 1))
  }
}

extension AMQPLink {
  /// `basic.publish`, as a closed channel names the method at fault.
  static let publishMethod: UInt32 = cs_basic_publish
}
