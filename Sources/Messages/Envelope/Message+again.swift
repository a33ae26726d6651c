public import AMQP
public import Telemetry

extension Message {
  /// The message as it can be published again by another user through another exchange.
  ///
  /// - `user_id` would be checked against our own user, and `reply_to` against a consumer of ours.
  /// - `expiration` would cut the stay in a delay step or with the dead letters short.
  /// - `CC` and `BCC` (RabbitMQ's sender-selected distribution) would send it to further queues a second time.
  /// - `x-death` and its kin are the broker's own; kept, they feed its detection of cycles, which drops messages.
  public func publishedAgain() -> Message {
    var copy = self
    copy.userID = nil
    copy.expiration = nil
    copy.isPersistent = true
    if copy.replyTo == Topology.Queues.directReplyTo { copy.replyTo = nil }
    for header in copy.headers.keys where Self.brokerHeaders.contains(header) || header.hasPrefix("x-first-death-") {
      copy.headers.removeValue(forKey: header)
    }
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
  public func deadLetter(_ reason: String, _ text: String, queue: String, now: UnixTime) -> Message {
    var copy = publishedAgain()
    if copy.headerBytes.map({ $0 > MessageLimits.maxHeaderBytes }) ?? true { copy.headers = [:] }
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
