/// A way to publish messages with confirms: a ``Publisher``, or its counterpart in memory for tests.
public protocol MessageSink: Sendable {
  /// Connects, and reconnects, until ``stop(ceiling:)``.
  func run() async
  /// Publishes messages, in order, and waits until the broker has answered for each of them.
  ///
  /// Without a connection it waits for one; what a lost connection left open goes out again on the next.
  /// - Parameters:
  ///   - timeout: maximum wait, after which it throws `timedOut` although the messages may still arrive; `nil` waits
  ///     until the sink is stopped.
  ///   - isWanted: asked before anything is sent, also again on another connection; once it answers no, nothing more
  ///     is sent and `unwanted` is thrown. Must not block. `nil` when the messages are wanted whatever happens.
  /// - Returns: one outcome for each publication, in the same order.
  func publish(
    _ batch: [Publication], timeout: Duration?, isWanted: (@Sendable () -> Bool)?
  ) async throws(AMQPError) -> [PublishOutcome]
  /// Flushes, for `ceiling` at most, and closes. Publications without a confirm by then fail as `closed`.
  func stop(ceiling: Duration) async
  /// Whether it is connected and not blocked.
  var isReady: Bool { get }
}

extension MessageSink {
  /// Publishes messages that are wanted whatever happens.
  public func publish(
    _ batch: [Publication], timeout: Duration?
  ) async throws(AMQPError) -> [PublishOutcome] {
    try await publish(batch, timeout: timeout, isWanted: nil)
  }

  /// Publishes messages that are wanted whatever happens, and waits until the sink is stopped.
  public func publish(_ batch: [Publication]) async throws(AMQPError) -> [PublishOutcome] {
    try await publish(batch, timeout: nil, isWanted: nil)
  }
}

extension Publisher: MessageSink {}
