import CountersignAMQP
import TestSupport
import Testing

@Suite struct MemoryMessageSinkTests {
  private func publication(by user: String?, _ body: [UInt8] = []) -> Publication {
    Publication(message: Message(userID: user, body: body), exchange: "", routingKey: "queue")
  }

  @Test func `A publication in another user's name is returned, as the broker does`() async throws {
    let sink = MemoryMessageSink(user: "worker")
    let outcomes = try await sink.publish([
      publication(by: "worker"), publication(by: "coordinator"), publication(by: nil),
    ])
    #expect(outcomes[0] == .confirmed && outcomes[2] == .confirmed)
    guard case .returned(406, _) = outcomes[1] else { return #expect(Bool(false), "\(outcomes[1])") }
    #expect(sink.confirmed.count == 2)
  }

  @Test func `A publication without room in AMQP is refused together with its batch`() async throws {
    let sink = MemoryMessageSink(user: "worker", maxBodyBytes: 10)
    await #expect(throws: AMQPError.self) {
      try await sink.publish([publication(by: nil), publication(by: nil, [UInt8](repeating: 0, count: 11))])
    }
    #expect(sink.published.isEmpty)
  }
}
