public import AMQP

extension Publisher: JobSink {
  public func publish(_ batch: [Publication]) async throws(AMQPError) -> [PublishOutcome] {
    try await publish(batch, timeout: nil)
  }

  public func stop() async {
    await stop(ceiling: Self.defaultCeiling)
  }
}
