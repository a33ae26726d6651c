public import CountersignAMQP
public import CountersignTelemetry

extension Message {
  /// The message as it can be published again by another user through another exchange.
  ///
  /// - `user_id` is checked against our own user: it becomes that, and `x-sender` names the message's sender.
  /// - `reply_to` would be checked against a consumer of ours.
  /// - `expiration` would cut the stay in a delay step or with the dead letters short.
  /// - `CC` and `BCC` (RabbitMQ's sender-selected distribution) would send it to further queues a second time.
  /// - `x-death` and its kin are the broker's own; kept, they feed its detection of cycles, which drops messages.
  /// - Parameters:
  ///   - user: our own user, which publishes it.
  ///   - sender: the message's sender, as a ``SenderRule`` resolves it.
  public func publishedAgain(by user: String, sender: String) -> Message {
    var copy = self
    copy.userID = user
    copy.expiration = nil
    copy.isPersistent = true
    if copy.replyTo == Topology.Queues.directReplyTo { copy.replyTo = nil }
    for header in copy.headers.keys where Self.brokerHeaders.contains(header) || header.hasPrefix("x-first-death-") {
      copy.headers.removeValue(forKey: header)
    }
    copy.headers[MessageHeader.sender] = .string(sender)
    return copy
  }

  /// The message as a dead letter: as it was, with the reason in its headers.
  ///
  /// Whatever is wrong with the message, AMQP has room for its dead letter: properties that were no UTF-8 are absent already, and headers that
  /// could not be published are left out.
  /// - Parameters:
  ///   - reason: the reason as a word in upper case.
  ///   - text: the reason for people, without values of the message.
  ///   - queue: the queue that the message failed on.
  ///   - user: our own user, which publishes it.
  ///   - sender: the message's sender, as a ``SenderRule`` resolves it.
  public func deadLetter(
    _ reason: String, _ text: String, queue: String, now: UnixTime, by user: String, sender: String
  ) -> Message {
    var copy = publishedAgain(by: user, sender: sender)
    if copy.headerBytes.map({ $0 > MessageLimits.maxHeaderBytes }) ?? true {
      copy.headers = [MessageHeader.sender: .string(sender)]
    }
    copy.headers[MessageHeader.deadReason] = .string(reason)
    copy.headers[MessageHeader.lastError] = .string(MessageHeader.bounded(text))
    copy.headers[MessageHeader.deadQueue] = .string(queue)
    copy.headers[MessageHeader.deadAt] = .string(now.rfc3339)
    return copy
  }

  private static let brokerHeaders: Set<String> = [
    "CC", "BCC", "x-death", "x-delivery-count", "x-last-death-queue", "x-last-death-reason", "x-last-death-exchange",
  ]
}
