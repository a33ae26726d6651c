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

  /// A quorum queue that is too busy to tell within 250 ms counts as empty (RabbitMQ 3.10).
  func count(_ queue: String) async throws(AMQPError) -> Int {
    try await connection.declareQueue(queue, passive: true).messageCount
  }

  func first(_ count: Int, of queue: String) async throws(AMQPError) -> [Message] {
    try await QueueLook(endpoint: endpoint, options: options, queue: queue, count: count).messages()
  }
}
