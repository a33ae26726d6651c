public import CountersignAMQP
public import CountersignTelemetry

extension Message {
  /// The message in a form that another user can publish again through another exchange.
  ///
  /// `user_id` becomes our own user, and `x-sender` names the sender. Removed are a pseudo-queue in `reply_to`,
  /// `expiration`, which would shorten the stay, `CC` and `BCC`, which would send it elsewhere again, and `x-death`,
  /// which feeds the broker's detection of cycles.
  /// - Parameters:
  ///   - user: our own user, the publisher.
  ///   - sender: sender of the message, as a ``SenderRule`` resolves it.
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

  /// The message as a dead letter: unchanged, with the reason in its headers.
  ///
  /// Every message fits into a dead letter: properties that are not UTF-8 are absent already, and headers that cannot
  /// be published are removed.
  /// - Parameters:
  ///   - reason: reason, a word in upper case.
  ///   - text: reason for people, without values of the message.
  ///   - queue: queue on which the message failed.
  ///   - now: time of the failure.
  ///   - user: our own user, the publisher.
  ///   - sender: sender of the message, as a ``SenderRule`` resolves it.
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
