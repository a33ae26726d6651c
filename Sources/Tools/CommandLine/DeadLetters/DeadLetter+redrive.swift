import CountersignAMQP
import CountersignMessages

extension DeadLetter {
  /// After that many failures a message needs a person, not another try.
  static let maxRedrives = 10

  /// RabbitMQ 3.10 continues the count of an `x-death` that a client sends, so that header is removed, too.
  func revived(redriveID: String, by user: String) -> Message {
    var message = message
    for header in Self.leftBehind { message.headers[header] = nil }
    message.headers[RedriveHeader.id] = .string(redriveID)
    message.headers[RedriveHeader.count] = .int(Int64(redrives + 1))
    message.isPersistent = true
    message.expiration = nil
    // The broker refuses a message that names another user than the connection's; readers trust the operator's
    // x-sender.
    message.headers[MessageHeader.sender] = .string(sender)
    message.userID = user
    return message
  }

  /// A consumer that dead-letters a message names the sender in `x-sender`. A message that the broker dead-lettered is
  /// unchanged, including a header that its sender may have forged: the sender is resolved as on the work queue.
  var sender: String {
    var trusted = Topology.Users.consumer(of: queue).map { [$0] } ?? []
    if queue == Topology.Queues.results, let type = message.type.flatMap(MessageType.init(parsing:)) {
      trusted += Topology.Users.worker(ofResults: type).map { [$0] } ?? []
    }
    return SenderRule.result(reportedBy: trusted).sender(of: message)
  }

  private static let leftBehind = [
    "x-death", "x-first-death-exchange", "x-first-death-queue", "x-first-death-reason",
    "x-last-death-exchange", "x-last-death-queue", "x-last-death-reason", "x-delivery-count",
    MessageHeader.deadReason, MessageHeader.deadQueue, MessageHeader.deadAt,
    MessageHeader.attempt, MessageHeader.firstAttemptAt, MessageHeader.lastError,
    MessageHeader.nextAttemptAt,
  ]
}
