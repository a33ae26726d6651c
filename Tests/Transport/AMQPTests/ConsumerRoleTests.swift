import CountersignConcurrency
import Testing

@testable import CountersignAMQP

struct ConsumerRoleTests {
  private let start = ContinuousClock.now

  @Test(
    arguments: [ConsumerInbox.Wish.paused, .aside, .stopped])
  func `A consumer that is not wished for is not due to be started again`(_ wish: ConsumerInbox.Wish) {
    let inbox = ConsumerInbox()
    let role = ConsumerRole(inbox: inbox, subscription: Consumer.Subscription(queue: "q", prefetch: 10, tag: "t"))
    role.consumerCanceled(start)
    #expect(role.due(isBlocked: false, now: start) == start + ConsumerRole.restartDelay)
    inbox.wish(wish, Latch())
    #expect(role.due(isBlocked: false, now: start + .seconds(1)) == nil)
  }

  @Test func `A consumer that is wished for again is due`() {
    let inbox = ConsumerInbox()
    let role = ConsumerRole(inbox: inbox, subscription: Consumer.Subscription(queue: "q", prefetch: 10, tag: "t"))
    role.consumerCanceled(start)
    inbox.wish(.paused, Latch())
    inbox.wish(.trying, Latch())
    #expect(role.due(isBlocked: false, now: start + .seconds(1)) == start + ConsumerRole.restartDelay)
  }
}
