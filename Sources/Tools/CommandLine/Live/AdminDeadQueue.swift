internal import CountersignAMQP

/// A dead queue on a real broker.
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
