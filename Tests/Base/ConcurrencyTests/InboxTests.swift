import Synchronization
import Testing

@testable import CountersignConcurrency

@Suite struct InboxTests {
  private final class Call: Sendable {
    let number: Int
    private let isOver = Atomic(false)

    init(_ number: Int) { self.number = number }

    var isStale: Bool { isOver.load(ordering: .relaxed) }
    func giveUp() { isOver.store(true, ordering: .relaxed) }
  }

  @Test func `Many additions wake the consumer once, until it has taken them`() {
    let inbox = Inbox<Int>()
    #expect(inbox.isEmpty)
    #expect(inbox.add(1) == .wake)
    #expect(inbox.add(2) == .awake)
    #expect(inbox.add(contentsOf: [3, 4]) == .awake)
    #expect(inbox.count == 4)
    #expect(inbox.takeAll() == [1, 2, 3, 4])
    #expect(inbox.add(contentsOf: [5]) == .wake)
  }

  @Test func `The consumer is woken a second time when enough elements wait`() {
    let inbox = Inbox<Int>(wakeCount: 3)
    #expect((1...5).map { inbox.add($0) } == [.wake, .awake, .wake, .awake, .awake])
  }

  @Test func `Elements whose callers have given up are dropped while the consumer is absent for hours`() {
    let inbox = Inbox<Call>(isStale: \.isStale)
    for number in 0..<50_000 {
      let call = Call(number)
      #expect(inbox.add(call) != .closed)
      call.giveUp()
    }
    #expect(inbox.takeAll().count <= 1_024)
  }

  @Test func `Fresh elements stay in order while stale ones are dropped`() {
    let inbox = Inbox<Call>(isStale: \.isStale)
    for number in 0..<10_000 {
      let call = Call(number)
      #expect(inbox.add(call) != .closed)
      if !number.isMultiple(of: 5) { call.giveUp() }
    }
    let kept = inbox.takeAll()
    #expect(kept.count <= 4_000 + 1)
    #expect(kept.filter { !$0.isStale }.map(\.number) == (0..<2_000).map { $0 * 5 })
  }

  @Test func `A closed inbox refuses elements and still hands out those it has`() {
    let inbox = Inbox<Int>()
    #expect(inbox.add(1) == .wake)
    inbox.close()
    #expect(inbox.isClosed)
    #expect(inbox.add(2) == .closed)
    #expect(inbox.add(contentsOf: [3]) == .closed)
    #expect(inbox.takeAll() == [1])
  }
}
