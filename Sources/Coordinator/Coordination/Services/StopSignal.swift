/// Lets a service wait until it is asked to stop.
struct StopSignal: Sendable {
  private let stream: AsyncStream<Never>
  private let continuation: AsyncStream<Never>.Continuation

  init() {
    (stream, continuation) = AsyncStream.makeStream(of: Never.self)
  }

  /// Ends the wait; more than once is once.
  func send() {
    continuation.finish()
  }

  /// Returns when ``send()`` was called, or the task is cancelled.
  func wait() async {
    for await _ in stream {}
  }
}
