import CountersignConcurrency
import Testing

@testable import CountersignAMQP

struct ConsumerInboxTests {
  private func deliveries(_ numbers: ClosedRange<UInt64>) -> [Delivery] {
    numbers.map { Delivery(message: Message(messageID: "\($0)"), tag: DeliveryTag(epoch: 1, number: $0)) }
  }

  @Test func `All that arrived is taken together`() async {
    let inbox = ConsumerInbox()
    inbox.deliver(deliveries(1...2))
    inbox.deliver(deliveries(3...3))
    #expect(await inbox.next() == deliveries(1...3))
  }

  @Test func `The rest is handed out before the end`() async {
    let inbox = ConsumerInbox()
    inbox.deliver(deliveries(1...2))
    inbox.finish()
    #expect(await inbox.next() == deliveries(1...2))
    #expect(await inbox.next() == nil)
  }

  @Test func `Deliveries of a lost channel are forgotten`() async {
    let inbox = ConsumerInbox()
    inbox.deliver(deliveries(1...2))
    inbox.dropDeliveries()
    inbox.finish()
    #expect(await inbox.next() == nil)
  }

  @Test func `One wake serves many settlements`() {
    let inbox = ConsumerInbox()
    let tags = deliveries(1...3).map(\.tag)
    #expect(inbox.settle([tags[0]], .ack))
    #expect(!inbox.settle([tags[1]], .requeue))
    #expect(inbox.takeSettlements().map(\.tag) == Array(tags[0...1]))
    #expect(inbox.settle([tags[2]], .discard))
  }

  @Test func `A canceled wait ends`() async {
    let inbox = ConsumerInbox()
    let task = Task { await inbox.next() }
    task.cancel()
    #expect(await task.value == nil)
  }

  @Test func `A stop is not taken back`() async {
    let inbox = ConsumerInbox()
    let stopped = Latch()
    inbox.wish(.stopped, stopped)
    inbox.wish(.consuming, Latch())
    #expect(inbox.wish == .stopped)
    inbox.grant(.consuming)
    #expect(await !stopped.wait(atMost: .milliseconds(1)))
    inbox.grant(.stopped)
    #expect(await stopped.wait())
    #expect(await inbox.next() == nil)
    inbox.wish(.closed, Latch())
    #expect(inbox.wish == .closed)
  }
}
