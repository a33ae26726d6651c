/// Identifies one delivery on one channel. Once the channel is gone, settling the delivery has no effect, and the
/// broker delivers the message again.
public struct DeliveryTag: Sendable, Hashable {
  let epoch: UInt32
  let number: UInt64

  init(epoch: UInt32, number: UInt64) {
    self.epoch = epoch
    self.number = number
  }

  /// A tag of no channel, for tests of consumers. Settling it has no effect.
  public init(number: UInt64) { self.init(epoch: 0, number: number) }
}

/// A message delivered by the broker.
public struct Delivery: Sendable, Hashable {
  /// The message. Its body is empty when `isOversize`.
  public var message: Message
  /// Tag to settle the delivery with.
  public var tag: DeliveryTag
  /// Whether it was delivered before, to any consumer.
  public var isRedelivered: Bool
  /// The exchange it was published to. Empty for the default one.
  public var exchange: String
  /// The key it was published with.
  public var routingKey: String
  /// Length of the body in bytes, even if the body was not kept.
  public var bodyBytes: UInt64
  /// Whether the body was longer than `ConnectionOptions.maxBodyBytes` and was therefore not kept.
  public var isOversize: Bool

  /// For tests of consumers. Real deliveries come from `Consumer` and `AdminConnection`.
  public init(
    message: Message, tag: DeliveryTag = DeliveryTag(number: 0), isRedelivered: Bool = false,
    exchange: String = "", routingKey: String = "", isOversize: Bool = false
  ) {
    self.init(
      message: message, tag: tag, isRedelivered: isRedelivered, exchange: exchange, routingKey: routingKey,
      bodyBytes: UInt64(message.body.count), isOversize: isOversize)
  }

  init(
    message: Message, tag: DeliveryTag, isRedelivered: Bool, exchange: String, routingKey: String,
    bodyBytes: UInt64, isOversize: Bool
  ) {
    self.message = message
    self.tag = tag
    self.isRedelivered = isRedelivered
    self.exchange = exchange
    self.routingKey = routingKey
    self.bodyBytes = bodyBytes
    self.isOversize = isOversize
  }
}
