internal import CountersignAMQP

/// What the dead-letter commands need of a broker: one connection, whose end returns what was taken and not settled.
protocol DeadQueue: Sendable {
  /// The user of the connection.
  var user: String { get }
  /// Takes the next message of a queue, and says how many are left; `nil` when the queue is empty.
  func take(from queue: String) async throws(AMQPError) -> (delivery: Delivery, remaining: Int)?
  /// Removes a message that was taken.
  func remove(_ tag: DeliveryTag) async throws(AMQPError)
  /// Publishes a message, and waits until the broker has answered.
  func publish(_ publication: Publication) async throws(AMQPError) -> PublishOutcome
}
