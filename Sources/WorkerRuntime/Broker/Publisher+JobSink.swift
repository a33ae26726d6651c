public import AMQP

extension Publisher: JobSink {
  public func publish(_ batch: [Publication]) async throws(AMQPError) -> [PublishOutcome] {
    try await publish(batch, timeout: nil)
  }

  /// Flushes for at most 5 s: what is outstanding is safe to be delivered again.
  public func stop() async {
    await stop(ceiling: .seconds(5))
  }
}
