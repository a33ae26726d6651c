import CountersignAMQP
import Testing

func answer(_ consumer: Consumer, _ publisher: Publisher, count: Int) async throws {
  var answered = 0
  while answered < count, let deliveries = await consumer.next() {
    let replies = deliveries.map { delivery in
      Publication(
        message: Message(
          correlationID: delivery.message.correlationID, body: Array("answer to ".utf8) + delivery.message.body),
        exchange: "", routingKey: delivery.message.replyTo ?? "")
    }
    let outcomes = try await publisher.publish(replies)
    #expect(outcomes.allSatisfy { $0 == .confirmed })
    consumer.ack(deliveries.map(\.tag))
    answered += deliveries.count
  }
}
