/// Queues that may be named in `reply_to`.
///
/// An answering process writes to any queue by its name. So a message that names a queue of somebody else (a work queue, another service's) would
/// write there with rights that its sender does not have.
public enum ReplyAddress {
  /// Whether a sender may have replies, or copies of results, sent to a queue.
  /// - Parameters:
  ///   - queue: the value of `reply_to`.
  ///   - sender: the message's sender, as a ``SenderRule`` resolves it.
  public static func isAllowed(_ queue: String, for sender: String) -> Bool {
    if queue.hasPrefix(directPrefix) || queue.hasPrefix(brokerNamedPrefix) { return true }
    if queue == Topology.Queues.accountsReplies { return sender == Topology.Users.accounts }
    // A name with a dot would share its queues' prefix with the name before the dot.
    guard sender != SenderRule.unnamed, !sender.utf8.contains(UInt8(ascii: ".")) else { return false }
    return queue.hasPrefix(Topology.Queues.ownPrefix(of: sender))
  }

  /// Checks a message's `reply_to` before anything is done for the message.
  /// - Throws: `INVALID_REPLY_TO`.
  public static func check(_ queue: String?, of sender: String) throws(ContractProblem) {
    guard let queue, !isAllowed(queue, for: sender) else { return }
    throw ContractProblem(
      .invalidReplyTo, field: "reply_to",
      "names a queue that is not its sender's: name \(Topology.Queues.directReplyTo), a queue that the broker named (amq.gen-…), or, with user_id, \(Topology.Queues.ownPrefix(of: "<user>"))…"
    )
  }

  /// The pseudo-queue itself, and what the broker puts into its place: the requester's channel.
  private static let directPrefix = Topology.Queues.directReplyTo
  /// RabbitMQ refuses such names from clients, so the queue is one that the broker itself has named.
  private static let brokerNamedPrefix = "amq.gen-"
}

extension ContractProblem.Code {
  /// `reply_to` names a queue that the sender may not have answers sent to.
  public static let invalidReplyTo = ContractProblem.Code("INVALID_REPLY_TO")
}
