/// Turns the broker's words about a queue that nobody has declared into what to do about it.
enum QueueMissing {
  static func explain(_ error: AMQPError, queue: String) -> AMQPError {
    // The same code also tells of a queue whose node is down, where declaring it is no remedy.
    guard error.replyCode == ReplyCodes.notFound, error.message.contains("no queue") else { return error }
    return AMQPError(
      .notFound, "queue '\(queue)' is missing: run countersign topology apply", replyCode: error.replyCode)
  }
}
