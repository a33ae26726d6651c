public import CountersignAMQP

/// Where results, retries and dead letters go: the engine's view of a publisher.
public protocol JobSink: Sendable {
  /// Connects, and reconnects, until `stop`.
  func run() async
  /// Publishes, and suspends until the broker has answered to all of them; in that order.
  ///
  /// Without a connection it waits for one, and what a lost connection left open goes out again on the next.
  /// - Parameters:
  ///   - timeout: How long to wait, after which it throws `timedOut`, though the messages may arrive all the same; nil: until
  ///     `stop`.
  ///   - isWanted: Asked before anything is sent, also again on another connection; when it says no, nothing more is, and
  ///     `unwanted` is thrown. It must not block. Nil: they are wanted whatever happens.
  func publish(
    _ batch: [Publication], timeout: Duration?, isWanted: (@Sendable () -> Bool)?
  ) async throws(AMQPError) -> [PublishOutcome]
  /// Flushes and closes; what is not confirmed by then fails as closed.
  func stop() async
  /// Whether it is connected and not blocked.
  var isReady: Bool { get }
}

extension JobSink {
  /// Publishes what is wanted whatever happens.
  public func publish(_ batch: [Publication], timeout: Duration?) async throws(AMQPError) -> [PublishOutcome] {
    try await publish(batch, timeout: timeout, isWanted: nil)
  }
}
