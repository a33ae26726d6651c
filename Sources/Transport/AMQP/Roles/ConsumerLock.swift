/// Lock that one connection holds, so that nobody consumes a queue beside it: the exclusive consumer of another queue, which holds
/// nothing. Quorum queues take no exclusive consumers (RabbitMQ guide "Quorum Queues", feature matrix), so that one is a classic queue.
///
/// It ends with its connection, so nobody can consume without it, and a process that dies leaves it. Nothing is declared for it: a virtual
/// host that is full of queues hinders nobody.
struct ConsumerLock {
  /// The queue of the lock.
  let queue: String
  /// The queue that is consumed with it.
  let consumed: String
  /// The name of the lock's consumer on its channel. What the consumed queue delivers has another: that of the caller, or one that the
  /// broker makes up.
  let tag = "countersign.lock"

  /// Becomes the exclusive consumer, or fails.
  func take(_ link: Link) throws(AMQPError) {
    do {
      // Messages that somebody writes into it come one at a time.
      try link.setPrefetch(1)
      _ = try link.consume(queue, tag: tag, isExclusive: true)
    } catch {
      throw explain(error)
    }
  }

  /// That the broker may have given the lock to somebody else.
  var lost: AMQPError {
    AMQPError(.consumerCanceled, "the broker canceled the consumer of queue '\(consumed)', or of '\(queue)'")
  }

  /// Turns the broker's refusal into what to do about it. A right that is missing and a consumer that is there have one reply code.
  func explain(_ error: AMQPError) -> AMQPError {
    switch error.replyCode {
    case ReplyCodes.accessRefused where error.message.contains("in exclusive use"), ReplyCodes.resourceLocked:
      AMQPError(
        .resourceLocked, "another process consumes queue '\(consumed)': its connection has the queue '\(queue)'",
        replyCode: error.replyCode)
    case ReplyCodes.accessRefused:
      AMQPError(
        .accessRefused, "the user may not read queue '\(queue)': \(Self.remedy)", replyCode: error.replyCode)
    // The same code also tells of a queue whose node is down, where declaring it is no remedy.
    case ReplyCodes.notFound where error.message.contains("no queue"):
      AMQPError(.notFound, "queue '\(queue)' is missing: \(Self.remedy)", replyCode: error.replyCode)
    default: error
    }
  }

  private static let remedy = "an administrator's countersign topology apply has to run first"
}
