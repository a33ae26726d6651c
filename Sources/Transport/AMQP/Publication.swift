/// A message and where it goes.
public struct Publication: Sendable, Hashable {
  /// The message. It should have a `messageID`: after a reconnect it may be published a second time under the same one.
  public var message: Message
  /// The exchange; empty for the default one, which routes by queue name.
  public var exchange: String
  /// The routing key.
  public var routingKey: String
  /// Whether the broker is to return it when no queue takes it. Not sent for direct reply-to addresses, as the broker
  /// returns every mandatory message to those: such a publish is confirmed whether or not the requester is there.
  public var mandatory: Bool

  public init(message: Message, exchange: String, routingKey: String, mandatory: Bool = true) {
    self.message = message
    self.exchange = exchange
    self.routingKey = routingKey
    self.mandatory = mandatory
  }
}

extension Publication {
  /// Checks that AMQP has room for it, as every publisher does before it sends anything of a batch.
  /// - Throws: `tooLarge`.
  public func check(maxBodyBytes: Int) throws(AMQPError) {
    try MessageLimits.check(self, maxBodyBytes: maxBodyBytes)
  }
}

/// What the broker made of a publication.
public enum PublishOutcome: Sendable, Hashable {
  /// The broker has taken responsibility for it.
  case confirmed
  /// No queue took it (312), the exchange is missing (404), or the broker refuses it for another reason of its own.
  /// The same publication will fare the same until the topology or the permissions change.
  case returned(code: Int, text: String)
  /// A queue did not take it, e.g. because it is full. Later it may.
  case nacked
}
