public import CountersignAMQP
import CountersignMessages

/// What the broker does when nobody works: the ceiling that a worker's figure is to be held against.
///
/// Three figures on quorum queues: publish with confirms; consume with acks; and relay, which is what a worker does to the
/// broker (take a message, publish another with a confirm, acknowledge the first) without the work.
public struct BrokerCeiling: Sendable {
  /// Messages per second.
  public struct Result: Sendable, Hashable {
    public let published: Double
    public let consumed: Double
    public let relayed: Double
  }

  private let endpoint: BrokerEndpoint
  private let messages: Int
  private let bodyBytes: Int

  private static let batch = 250
  private static let batchesInFlight = 4
  private static let prefetch = 1_000

  /// - Parameters:
  ///   - endpoint: a user who may declare queues.
  ///   - messages: how many to move through each stage.
  ///   - bodyBytes: the size of each body.
  public init(endpoint: BrokerEndpoint, messages: Int, bodyBytes: Int) {
    self.endpoint = endpoint
    self.messages = messages
    self.bodyBytes = bodyBytes
  }

  /// Declares two queues, measures, and deletes them again.
  /// - Throws: what the broker refuses.
  public func measure() async throws -> Result {
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
    let publications = (0..<Self.batch).map { _ in
      Publication(message: Message(body: body), exchange: Topology.Exchanges.direct, routingKey: queue)
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      var left = messages
      var running = 0
      while left > 0 {
        if running == Self.batchesInFlight {
          try await group.next()
          running -= 1
        }
        let part = Array(publications.prefix(left))
        left -= part.count
        running += 1
        group.addTask { try await publishAll(part, with: publisher) }
      }
      try await group.waitForAll()
    }
  }

  private func drain(_ queue: String, relayingTo target: String?, with publisher: Publisher) async throws {
    let consumer = Consumer(
      endpoint: endpoint, options: ConnectionOptions(name: "bench-consumer"), queue: queue, prefetch: Self.prefetch,
      onEvent: { _ in })
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await consumer.run() }
      var left = messages
      while left > 0, let deliveries = await consumer.next() {
        left -= deliveries.count
        group.addTask { try await relay(deliveries, to: target, from: consumer, with: publisher) }
      }
      await consumer.stopConsuming()
      // The relays acknowledge before the connection that they do it on is closed.
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
