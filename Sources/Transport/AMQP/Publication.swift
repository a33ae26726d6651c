/// A message with its destination.
public struct Publication: Sendable, Hashable {
  /// The message. It should have a `messageID`: after a reconnect it may be published a second time under the same one.
  public var message: Message
  /// The exchange. Empty for the default one, which routes by queue name.
  public var exchange: String
  /// The routing key.
  public var routingKey: String
  /// Whether the broker returns the message if no queue takes it. Ignored for direct reply-to addresses, because the
  /// broker returns every mandatory message to those: such a publish is confirmed even if the requester is gone.
  public var mandatory: Bool

  public init(message: Message, exchange: String, routingKey: String, mandatory: Bool = true) {
    self.message = message
    self.exchange = exchange
    self.routingKey = routingKey
    self.mandatory = mandatory
  }
}

extension Publication {
  /// Checks the limits of AMQP, as every publisher does before it sends any part of a batch.
  /// - Throws: `tooLarge`.
  public func check(maxBodyBytes: Int) throws(AMQPError) {
    try WireLimits.check(self, maxBodyBytes: maxBodyBytes)
  }
}

/// Answer of the broker to a publication.
public enum PublishOutcome: Sendable, Hashable {
  /// The broker has taken responsibility for the message.
  case confirmed
  /// No queue took it (312), the exchange is missing (404), or the broker refused it for another reason.
  /// The same publication is returned again until the topology or the permissions change.
  case returned(code: Int, text: String)
  /// A queue refused it, e.g. because it is full. A later attempt may succeed.
  case nacked
}
