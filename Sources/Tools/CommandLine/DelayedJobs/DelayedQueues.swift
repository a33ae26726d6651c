import CountersignAMQP

/// Queues of delayed jobs as they can be looked at. No call leaves a message out of its place.
protocol DelayedQueues: Sendable {
  /// Number of messages that wait.
  func count(_ queue: String) async throws(AMQPError) -> Int
  /// First messages of a queue, in its order: at most as many, and fewer if some leave meanwhile.
  func first(_ count: Int, of queue: String) async throws(AMQPError) -> [Message]
}

struct AdminDelayedQueues: DelayedQueues {
  /// Counts, and holds nothing.
  let connection: AdminConnection
  let endpoint: BrokerEndpoint
  let options: ConnectionOptions

  func count(_ queue: String) async throws(AMQPError) -> Int {
    let count = try await connection.declareQueue(queue, passive: true).messageCount
    // A quorum queue that is too busy to tell within 250 ms counts as empty (RabbitMQ 3.10).
    guard count == 0 else { return count }
    return try await countByTaking(queue)
  }

  /// A single message returns to the head.
  private func countByTaking(_ queue: String) async throws(AMQPError) -> Int {
    guard let (delivery, remaining) = try await connection.get(queue) else { return 0 }
    try await connection.reject(delivery.tag, requeue: true)
    // Its answer proves that the queue has the return before anyone consumes.
    try await connection.declareQueue(queue, passive: true)
    return remaining + 1
  }

  func first(_ count: Int, of queue: String) async throws(AMQPError) -> [Message] {
    try await QueueLook(endpoint: endpoint, options: options, queue: queue, count: count).messages()
  }
}
