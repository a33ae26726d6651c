/// Lock that keeps other connections from consuming a queue: the exclusive consumer of a second, classic, empty queue.
/// Quorum queues do not support exclusive consumers (RabbitMQ guide "Quorum Queues", feature matrix).
///
/// The lock ends with its connection. A shared lock is an ordinary consumer: the broker refuses an exclusive one beside
/// it.
struct ConsumerLock {
  let queue: String
  let consumed: String
  var isShared = false
  /// Tag of the lock's consumer. Deliveries of the consumed queue have another tag: the caller's, or one chosen by the
  /// broker.
  let tag = "countersign.lock"

  func take(_ link: AMQPLink) throws(AMQPError) {
    do {
      // Messages written into the lock's queue by mistake arrive one at a time.
      try link.setPrefetch(1)
      _ = try link.consume(queue, tag: tag, isExclusive: !isShared)
    } catch {
      throw explain(error)
    }
  }

  /// Error for a canceled consumer, which may have been the lock's: another process may hold the lock now.
  var lost: AMQPError {
    AMQPError(.consumerCanceled, "the broker canceled the consumer of queue '\(consumed)', or of '\(queue)'")
  }

  /// A missing right and an existing consumer have the same reply code.
  func explain(_ error: AMQPError) -> AMQPError {
    switch error.replyCode {
    case ReplyCodes.accessRefused where error.message.contains("in exclusive use"), ReplyCodes.resourceLocked:
      AMQPError(
        .resourceLocked, "another process consumes queue '\(consumed)': its connection holds the queue '\(queue)'",
        replyCode: error.replyCode)
    case ReplyCodes.accessRefused:
      AMQPError(
        .accessRefused, "the user may not read queue '\(queue)': \(Self.remedy)", replyCode: error.replyCode)
    // A queue whose node is down has the same code, but declaring it does not help.
    case ReplyCodes.notFound where error.message.contains("no queue"):
      AMQPError(.notFound, "queue '\(queue)' is missing: \(Self.remedy)", replyCode: error.replyCode)
    default: error
    }
  }

  private static let remedy = "an administrator's countersign topology apply has to run first"
}
