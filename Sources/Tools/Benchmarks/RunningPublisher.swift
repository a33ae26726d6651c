import CountersignAMQP

/// Runs a publisher for as long as `body` takes.
func withRunningPublisher<T: Sendable>(
  _ endpoint: BrokerEndpoint, name: String, _ body: (Publisher) async throws -> T
) async throws -> T {
  let publisher = Publisher(endpoint: endpoint, options: ConnectionOptions(name: name), onEvent: { _ in })
  return try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask { await publisher.run() }
    do {
      let result = try await body(publisher)
      await publisher.stop()
      try await group.waitForAll()
      return result
    } catch {
      await publisher.stop()
      throw error
    }
  }
}

/// Publishes a batch; anything but a confirm for every message is an error.
func publishAll(_ batch: [Publication], with publisher: Publisher) async throws {
  for outcome in try await publisher.publish(batch) {
    guard case .confirmed = outcome else {
      throw BenchmarkError("the broker did not take a message: \(outcome); is the topology applied?")
    }
  }
}
