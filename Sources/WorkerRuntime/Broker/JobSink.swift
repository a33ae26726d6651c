public import AMQP

/// Where results, retries and dead letters go: the engine's view of a publisher.
public protocol JobSink: Sendable {
  /// Connects, and reconnects, until `stop`.
  func run() async
  /// Publishes, and suspends until the broker has answered to all of them; in that order.
  func publish(_ batch: [Publication]) async throws(AMQPError) -> [PublishOutcome]
  /// Flushes and closes; what is not confirmed by then fails as closed.
  func stop() async
  /// Whether it is connected and not blocked.
  var isReady: Bool { get }
}
