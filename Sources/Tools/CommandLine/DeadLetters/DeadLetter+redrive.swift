internal import CountersignAMQP
internal import CountersignMessages

extension DeadLetter {
  /// How often a message may be redriven: what fails that often needs a person, not another try.
  static let maxRedrives = 10

  /// The message for its next life: the same ID, type and body, attempts counted anew, what the first life left behind
  /// removed.
  ///
  /// RabbitMQ 3.10 goes on counting in an `x-death` that a client sends, so it must not go along.
  /// - Parameters:
  ///   - redriveID: the ID of the redrive.
  ///   - user: the operator's user, which publishes it.
  func revived(redriveID: String, by user: String) -> Message {
    var message = message
    for header in Self.leftBehind { message.headers[header] = nil }
    message.headers[RedriveHeader.id] = .string(redriveID)
    message.headers[RedriveHeader.count] = .int(Int64(redrives + 1))
    message.isPersistent = true
    message.expiration = nil
    // The broker refuses a message that names another user than the connection's; the operator's word about the sender is believed.
    message.headers[MessageHeader.sender] = .string(sender)
    message.userID = user
    return message
  }

  /// The user that sent the message.
  ///
  /// One that its consumer has buried names it in `x-sender`. What the broker itself dead-lettered is as its sender wrote it, and that header
  /// with it: it is resolved as on the work queue.
  var sender: String {
    var believed = Topology.Users.consumer(of: queue).map { [$0] } ?? []
    if queue == Topology.Queues.results, let type = message.type.flatMap(MessageType.init(parsing:)) {
      believed += Topology.Users.worker(ofResults: type).map { [$0] } ?? []
    }
    return SenderRule.result(reportedBy: believed).sender(of: message)
  }

  private static let leftBehind = [
    "x-death", "x-first-death-exchange", "x-first-death-queue", "x-first-death-reason",
    "x-last-death-exchange", "x-last-death-queue", "x-last-death-reason", "x-delivery-count",
    MessageHeader.deadReason, MessageHeader.deadQueue, MessageHeader.deadAt,
    MessageHeader.attempt, MessageHeader.firstAttemptAt, MessageHeader.lastError,
  ]
}
