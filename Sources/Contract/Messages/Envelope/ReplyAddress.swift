/// Rule for the queues that `reply_to` may name.
///
/// An answering process writes to any queue by its name. A message that names a foreign queue (a work queue, another
/// service's) would write there with rights that its sender lacks.
public enum ReplyAddress {
  /// Whether a sender may direct replies, or copies of results, to a queue.
  /// - Parameters:
  ///   - queue: value of `reply_to`.
  ///   - sender: sender of the message, as a ``SenderRule`` resolves it.
  public static func isAllowed(_ queue: String, for sender: String) -> Bool {
    if queue.hasPrefix(directPrefix) || queue.hasPrefix(brokerNamedPrefix) { return true }
    if queue == Topology.Queues.accountsReplies { return sender == Topology.Users.accounts }
    // The queues of a name with a dot would have the prefix of the name before the dot.
    guard sender != SenderRule.unnamed, !sender.utf8.contains(UInt8(ascii: ".")) else { return false }
    return queue.hasPrefix(Topology.Queues.ownPrefix(of: sender))
  }

  /// Checks the `reply_to` of a message before the message takes effect.
  /// - Throws: `INVALID_REPLY_TO`.
  public static func check(_ queue: String?, of sender: String) throws(ContractProblem) {
    guard let queue, !isAllowed(queue, for: sender) else { return }
    throw ContractProblem(
      .invalidReplyTo, field: "reply_to",
      "names a queue that is not its sender's: name \(Topology.Queues.directReplyTo), a queue that the broker named (amq.gen-…), or, with user_id, \(Topology.Queues.ownPrefix(of: "<user>"))…"
    )
  }

  /// Prefix of the pseudo-queue and of the broker's replacement for it, the requester's channel.
  private static let directPrefix = Topology.Queues.directReplyTo
  /// Prefix of queues that the broker named: RabbitMQ refuses such names from clients.
  private static let brokerNamedPrefix = "amq.gen-"
}

extension ContractProblem.Code {
  /// `reply_to` names a queue that the sender may not direct answers to.
  public static let invalidReplyTo = ContractProblem.Code("INVALID_REPLY_TO")
}
