package import CountersignAMQP
import CountersignMessages

/// Throughput of the broker alone: the ceiling to compare a worker's throughput with.
///
/// Measures three figures on quorum queues: publish with confirms; consume with acks; and relay, a worker's use of the
/// broker (take a message, publish another with a confirm, acknowledge the first) without the work.
package struct BrokerCeiling: Sendable {
  /// Messages per second.
  package struct Result: Sendable, Hashable, Encodable {
    package let published, consumed, relayed: Double

    enum CodingKeys: String, CodingKey {
      case published = "publishedPerSecond"
      case consumed = "consumedPerSecond"
      case relayed = "relayedPerSecond"
    }
  }

  private let endpoint: BrokerEndpoint
  private let messages: Int
  private let bodyBytes: Int

  private static let prefetch = 1_000

  package init(endpoint: BrokerEndpoint, messages: Int, bodyBytes: Int) {
    self.endpoint = endpoint
    self.messages = messages
    self.bodyBytes = bodyBytes
  }

  /// Declares two queues, measures, and deletes them again.
  package func measure() async throws -> Result {
    let admin = try await AdminConnection.open(endpoint: endpoint, options: ConnectionOptions(name: "bench-admin"))
    let suffix = MessageID.make()
    let source = "countersign.bench.\(suffix).in"
    let target = "countersign.bench.\(suffix).out"
    for queue in [source, target] {
      _ = try await admin.declareQueue(queue, arguments: ["x-queue-type": .string("quorum")])
    }
    do {
      let result = try await withRunningPublisher(endpoint, name: "bench-publisher") { publisher in
        let published = try await rate { try await publish(to: source, with: publisher) }
        let relayed = try await rate { try await drain(source, relayingTo: target, with: publisher) }
        let consumed = try await rate { try await drain(target, relayingTo: nil, with: publisher) }
        return Result(published: published, consumed: consumed, relayed: relayed)
      }
      try await delete([source, target], with: admin)
      return result
    } catch {
      try await delete([source, target], with: admin)
      throw error
    }
  }

  private func delete(_ queues: [String], with admin: AdminConnection) async throws {
    for queue in queues { try await admin.deleteQueue(queue) }
    try await admin.close()
  }

  private func rate(_ work: () async throws -> Void) async throws -> Double {
    let took = try await ContinuousClock().measure { try await work() }
    return Double(messages) / took.inSeconds
  }

  private func publish(to queue: String, with publisher: Publisher) async throws {
    let body = [UInt8](repeating: UInt8(ascii: "x"), count: bodyBytes)
    let publications = (0..<batchSize).map { _ in
      Publication(message: Message(body: body), exchange: Topology.Exchanges.direct, routingKey: queue)
    }
    try await publishBatches(messages, with: publisher) { Array(publications.prefix($0.count)) }
  }

  private func drain(_ queue: String, relayingTo target: String?, with publisher: Publisher) async throws {
    let consumer = Consumer(
      endpoint: endpoint, options: ConnectionOptions(name: "bench-consumer"),
      subscription: Consumer.Subscription(queue: queue, prefetch: Self.prefetch), onEvent: { _ in })
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await consumer.run() }
      var left = messages
      while left > 0, let deliveries = await consumer.next() {
        left -= deliveries.count
        group.addTask { try await relay(deliveries, to: target, from: consumer, with: publisher) }
      }
      await consumer.stopConsuming()
      // Closing the connection sends the acknowledgments of the relays first.
      await consumer.close()
      try await group.waitForAll()
    }
  }

  private func relay(
    _ deliveries: [Delivery], to target: String?, from consumer: Consumer, with publisher: Publisher
  ) async throws {
    if let target {
      try await publishAll(
        deliveries.map {
          Publication(message: $0.message, exchange: Topology.Exchanges.direct, routingKey: target)
        }, with: publisher)
    }
    for delivery in deliveries { consumer.ack(delivery.tag) }
  }
}

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

private let batchSize = 250
private let batchesInFlight = 4

func publishBatches(
  _ count: Int, with publisher: Publisher,
  _ publications: @escaping @Sendable (_ indices: Range<Int>) throws -> [Publication]
) async throws {
  try await withThrowingTaskGroup(of: Void.self) { group in
    for (batch, start) in stride(from: 0, to: count, by: batchSize).enumerated() {
      if batch >= batchesInFlight { try await group.next() }
      group.addTask {
        try await publishAll(try publications(start..<min(start + batchSize, count)), with: publisher)
      }
    }
    try await group.waitForAll()
  }
}

/// Throws unless the broker confirms every message.
func publishAll(_ batch: [Publication], with publisher: Publisher) async throws {
  for outcome in try await publisher.publish(batch) {
    guard case .confirmed = outcome else {
      throw BenchmarkError("the broker did not accept a message: \(outcome); is the topology applied?")
    }
  }
}

/// Error that ends a benchmark early.
package struct BenchmarkError: Error, Sendable, CustomStringConvertible {
  /// The problem and a hint. Safe to print.
  package let description: String

  init(_ description: String) {
    self.description = description
  }
}
