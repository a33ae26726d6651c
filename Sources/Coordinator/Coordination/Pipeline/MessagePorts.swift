import CountersignAMQP

/// Where deliveries come from and are settled: a ``Consumer``, or a test's stand-in.
protocol DeliverySource: Sendable {
  /// Connects, and serves until ``close()``.
  func run() async
  /// The next deliveries; `nil` when there will be none any more. For one caller.
  func next() async -> [Delivery]?
  func ack(_ tag: DeliveryTag)
  func reject(_ tag: DeliveryTag, requeue: Bool)
  /// Takes no more; what has arrived is still handed out.
  func stopConsuming() async
  func close() async
}

/// Where messages go: a ``Publisher``, or a test's stand-in.
protocol MessageSink: Sendable {
  /// Publishes and waits until the broker has answered for each.
  func publish(_ batch: [Publication]) async throws(AMQPError) -> [PublishOutcome]
}
