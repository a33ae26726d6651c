import Synchronization
import Testing

@testable import CountersignAMQP

struct PublishTicketTests {
  private let batch = (0..<3).map { Publication(message: Message(messageID: "\($0)"), exchange: "", routingKey: "k") }

  @Test func `Outcomes keep their places`() async throws {
    let ticket = PublishTicket(batch)
    async let outcomes = ticket.wait()
    ticket.settle(2, .nacked)
    ticket.settle(0, .confirmed)
    #expect(!ticket.isDecided)
    ticket.settle(1, .returned(code: 312, text: "NO_ROUTE"))
    #expect(try await outcomes == [.confirmed, .returned(code: 312, text: "NO_ROUTE"), .nacked])
  }

  @Test func `The first decision stands`() async {
    let ticket = PublishTicket(batch)
    ticket.fail(AMQPError(.timedOut, "late"))
    for position in 0..<3 { ticket.settle(position, .confirmed) }
    ticket.fail(AMQPError(.closed, "stopped"))
    let error = await #expect(throws: AMQPError.self) { try await ticket.wait() }
    #expect(error?.code == .timedOut)
  }

  @Test func `Cancellation ends the wait before and after it began`()
    async
  {
    let ticket = PublishTicket(batch)
    let task = Task { await #expect(throws: AMQPError.self) { try await ticket.wait() } }
    task.cancel()
    #expect(await task.value?.code == .canceled)
    #expect(ticket.isDecided)
  }

  @Test func `Canceled publishes are not sent`() async {
    let isWanted = Atomic(true)
    let ticket = PublishTicket(batch, isWanted: { isWanted.load(ordering: .relaxed) })
    #expect(ticket.mayBeSent())
    isWanted.store(false, ordering: .relaxed)
    #expect(!ticket.isDecided, "nobody has asked yet")
    #expect(!ticket.mayBeSent())
    let error = await #expect(throws: AMQPError.self) { try await ticket.wait() }
    #expect(error?.code == .unwanted)
  }
}
