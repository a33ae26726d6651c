import CountersignAMQP

extension Consumer: DeliverySource {}

extension Publisher: MessageSink {
  func publish(_ batch: [Publication]) async throws(AMQPError) -> [PublishOutcome] {
    try await publish(batch, timeout: nil)
  }
}
