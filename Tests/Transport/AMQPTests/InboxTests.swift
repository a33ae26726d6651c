import Testing

@testable import CountersignAMQP

struct InboxTests {
  private func ticket(_ name: String) -> PublishTicket {
    PublishTicket([Publication(message: Message(messageID: name), exchange: "", routingKey: "k")])
  }

  @Test func oneWakeForManyCalls() throws {
    let inbox = Inbox<PublishTicket>(of: "publisher")
    let first = try inbox.add(ticket("1"))
    let second = try inbox.add(ticket("2"))
    #expect(first)
    #expect(!second)
    #expect(inbox.take().count == 2)
    let third = try inbox.add(ticket("3"))
    #expect(third)
  }

  @Test func aSecondWakeWhenEnoughWaits() throws {
    let inbox = Inbox<PublishTicket>(of: "publisher", wakeCount: 3)
    let wakes = try (1...5).map { try inbox.add(ticket("\($0)")) }
    #expect(wakes == [true, false, true, false, false])
  }

  /// Hours without a broker, with callers that give up.
  @Test func whatNobodyWaitsForIsDropped() throws {
    let inbox = Inbox<PublishTicket>(of: "publisher")
    for number in 0..<50_000 {
      let ticket = ticket("\(number)")
      _ = try inbox.add(ticket)
      ticket.fail(AMQPError(.timedOut, "late"))
    }
    #expect(inbox.take().count <= 1_024)
  }

  @Test func whatSomebodyWaitsForIsKeptInOrder() throws {
    let inbox = Inbox<PublishTicket>(of: "publisher")
    for number in 0..<10_000 {
      let ticket = ticket("\(number)")
      _ = try inbox.add(ticket)
      if !number.isMultiple(of: 5) { ticket.fail(AMQPError(.timedOut, "late")) }
    }
    let kept = inbox.take()
    #expect(kept.count <= 4_000 + 1)
    let waited = kept.filter { !$0.isDecided }.compactMap { $0.publications[0].message.messageID }
    #expect(waited == (0..<2_000).map { "\($0 * 5)" })
  }

  @Test func nothingIsTakenAfterTheEnd() {
    let inbox = Inbox<PublishTicket>(of: "publisher")
    inbox.close()
    let error = #expect(throws: AMQPError.self) { try inbox.add(ticket("1")) }
    #expect(error?.code == .closed)
  }
}
