import CountersignAMQP

/// A look at the first messages of a queue, on a connection of its own: it takes them, and gives them back by closing.
///
/// One consumer holds them, because a quorum queue returns what a consumer held in the order of the queue. It returns
/// what `basic.get` took in the order of the delivery tags as texts, or in none (RabbitMQ 3.10), and delays end at the
/// head of a queue only.
struct QueueLook {
  /// Maximum time for which messages are held.
  static let maxHeld: Duration = .seconds(2)
  /// Time without a message after which no more are expected: the queue may have fewer than when it was counted.
  static let silence: Duration = .milliseconds(300)

  let endpoint: BrokerEndpoint
  let options: ConnectionOptions
  let queue: String
  /// Number of messages, 1...65,535.
  let count: Int

  func messages() async throws(AMQPError) -> [Message] {
    let consumer = Consumer(
      endpoint: endpoint, options: options, subscription: Consumer.Subscription(queue: queue, prefetch: count),
      onEvent: { _ in })
    let outcome = await withTaskGroup(of: Void.self, returning: Result<[Message], AMQPError>.self) { group in
      group.addTask { await consumer.run() }
      let taken = await take(from: consumer)
      await consumer.close()
      return taken
    }
    return try outcome.get()
  }

  private func take(from consumer: Consumer) async -> Result<[Message], AMQPError> {
    var deliveries: [Delivery] = []
    var (deadline, isConsuming) = (ContinuousClock.now + options.connectTimeout, false)
    while deliveries.count < count, ContinuousClock.now < deadline {
      if !isConsuming, consumer.status.phase != .connecting {
        (deadline, isConsuming) = (ContinuousClock.now + Self.maxHeld, true)
      }
      if let failure = Self.failure(consumer) { return .failure(failure) }
      let arrived = await Self.next(consumer)
      if arrived == nil, isConsuming || Task.isCancelled { break }
      // Those of a connection that was lost are delivered again.
      deliveries = deliveries.filter { consumer.isLive($0.tag) } + (arrived ?? [])
    }
    guard isConsuming || !deliveries.isEmpty else {
      return .failure(
        consumer.status.lastError ?? AMQPError(.timedOut, "queue '\(queue)' could not be consumed in time"))
    }
    return .success(deliveries.map(\.message))
  }

  /// A refusal that waiting does not change.
  private static func failure(_ consumer: Consumer) -> AMQPError? {
    consumer.status.lastError.flatMap { $0.isRetriable ? nil : $0 }
  }

  /// `nil` after ``silence``.
  private static func next(_ consumer: Consumer) async -> [Delivery]? {
    await withTaskGroup(of: [Delivery]?.self, returning: [Delivery]?.self) { group in
      group.addTask { await consumer.next() }
      group.addTask {
        // Deliveries end it early, and then no one waits for it.
        try? await Task.sleep(for: Self.silence)
        return nil
      }
      var found: [Delivery]?
      // Both: deliveries may come while the other one ends.
      for await arrived in group {
        found = found ?? arrived
        group.cancelAll()
      }
      return found
    }
  }
}
