import CountersignAMQP

/// Closing it returns all messages that were taken and not settled.
protocol DeadQueue: Sendable {
  var user: String { get }
  /// Takes the next message of a queue and counts the rest. `nil` if the queue is empty.
  func get(_ queue: String) async throws(AMQPError) -> (delivery: Delivery, remaining: Int)?
  func ack(_ tag: DeliveryTag) async throws(AMQPError)
  func publish(_ publication: Publication) async throws(AMQPError) -> PublishOutcome
}

extension AdminConnection: DeadQueue {}
