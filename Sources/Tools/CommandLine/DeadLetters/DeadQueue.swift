import CountersignAMQP

/// Closing it returns all messages that were taken and not settled.
protocol DeadQueue: Sendable {
  var user: String { get }
  /// Takes the next message of a queue and counts the rest. `nil` if the queue is empty.
  func take(from queue: String) async throws(AMQPError) -> (delivery: Delivery, remaining: Int)?
  func remove(_ tag: DeliveryTag) async throws(AMQPError)
  func publish(_ publication: Publication) async throws(AMQPError) -> PublishOutcome
}

struct AdminDeadQueue: DeadQueue {
  let connection: AdminConnection
  let user: String

  func take(from queue: String) async throws(AMQPError) -> (delivery: Delivery, remaining: Int)? {
    try await connection.get(queue)
  }

  func remove(_ tag: DeliveryTag) async throws(AMQPError) {
    try await connection.ack(tag)
  }

  func publish(_ publication: Publication) async throws(AMQPError) -> PublishOutcome {
    try await connection.publish(publication)
  }
}
