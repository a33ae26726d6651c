import AMQP
import Messages

extension Message {
  /// The message as it can be published again by another user through another exchange.
  ///
  /// - `user_id` would be checked against our own user, and `reply_to` against a consumer of ours.
  /// - `expiration` would cut the stay in a delay step or with the dead letters short.
  /// - `CC` and `BCC` (RabbitMQ's sender-selected distribution) would send it to further queues a second time.
  /// - `x-death` and its kin are the broker's own; kept, they feed its detection of cycles, which drops messages.
  func publishedAgain() -> Message {
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

  private static let brokerHeaders: Set<String> = [
    "CC", "BCC", "x-death", WorkerHeader.deliveryCount, "x-last-death-queue", "x-last-death-reason",
    "x-last-death-exchange",
  ]
}
