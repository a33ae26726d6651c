import CountersignAMQP
import Testing

func withPublisher<R: Sendable>(
  endpoint: BrokerEndpoint? = nil, options: ConnectionOptions = Broker.options("publisher"), maxOutstanding: Int = 4096,
  _ body: (Publisher, EventLog) async throws -> R
) async throws -> R {
  let log = EventLog()
  let publisher = Publisher(
    endpoint: try endpoint ?? Broker.endpoint(), options: options, maxOutstanding: maxOutstanding, onEvent: log.add)
  async let running: Void = publisher.run()
  let result: Result<R, any Error>
  do { result = .success(try await body(publisher, log)) } catch { result = .failure(error) }
  if case .success = result { await publisher.stop() } else { await publisher.stop(ceiling: .zero) }
  await running
  return try result.get()
}

func withConsumer<R: Sendable>(
  _ queue: String, prefetch: Int = 100, lock: String? = nil, isLockShared: Bool = false,
  endpoint: BrokerEndpoint? = nil, options: ConnectionOptions = Broker.options("consumer"),
  stallTimeout: Duration = .seconds(30),
  _ body: (Consumer, EventLog) async throws -> R
) async throws -> R {
  let log = EventLog()
  let consumer = Consumer(
    endpoint: try endpoint ?? Broker.endpoint(), options: options,
    subscription: Consumer.Subscription(
      queue: queue, prefetch: prefetch, lock: lock, isLockShared: isLockShared, stallTimeout: stallTimeout),
    onEvent: log.add)
  async let running: Void = consumer.run()
  let result: Result<R, any Error>
  do { result = .success(try await body(consumer, log)) } catch { result = .failure(error) }
  await consumer.close()
  await running
  return try result.get()
}

func withRequestClient<R: Sendable>(
  endpoint: BrokerEndpoint? = nil, options: ConnectionOptions = Broker.options("requests"),
  _ body: (RequestClient, EventLog) async throws -> R
) async throws -> R {
  let log = EventLog()
  let client = RequestClient(endpoint: try endpoint ?? Broker.endpoint(), options: options, onEvent: log.add)
  async let running: Void = client.run()
  let result: Result<R, any Error>
  do { result = .success(try await body(client, log)) } catch { result = .failure(error) }
  await client.stop()
  await running
  return try result.get()
}

func fill(_ queue: String) async throws {
  try await withPublisher { publisher, _ in
    for number in 0..<50 {
      let outcome = try await publisher.publish(
        Publication(message: Message(id: "f\(number)"), exchange: "", routingKey: queue))
      if outcome == .nacked { return }
    }
    Issue.record("the queue refuses nothing")
  }
}
