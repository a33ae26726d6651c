public import CountersignAMQP
public import CountersignTelemetry

/// Writes the dead letters of a queue: each message as it was, with the reason in its headers.
public struct DeadLetterWriter: Sendable {
  /// Queue that the messages failed on. Also the routing key of their dead letters.
  public let queue: String
  /// Broker's user that publishes the dead letters.
  public let userID: String

  public init(queue: String, userID: String) {
    self.queue = queue
    self.userID = userID
  }

  /// Returns the dead letter of a message.
  /// - Parameters:
  ///   - message: the message as it was delivered.
  ///   - reason: the reason as a word in upper case.
  ///   - text: the reason for people, without values of the message.
  ///   - sender: the message's sender, as a ``SenderRule`` resolves it.
  ///   - now: time of the death.
  public func publication(
    _ message: Message, _ reason: String, _ text: String, sender: String, now: UnixTime
  ) -> Publication {
    let letter = message.deadLetter(reason, text, queue: queue, now: now, by: userID, sender: sender)
    return Publication(message: letter, exchange: Topology.Exchanges.dead, routingKey: queue)
  }
}
