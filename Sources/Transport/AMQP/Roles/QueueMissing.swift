/// Adds the remedy to the error for a missing queue.
enum QueueMissing {
  static func explain(_ error: AMQPError, queue: String) -> AMQPError {
    // A queue whose node is down has the same code, but declaring it does not help.
    guard error.replyCode == ReplyCodes.notFound, error.message.contains("no queue") else { return error }
    return AMQPError(
      .notFound, "queue '\(queue)' is missing: run countersign topology apply", replyCode: error.replyCode)
  }
}
