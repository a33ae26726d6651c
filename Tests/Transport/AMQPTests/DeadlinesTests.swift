import CountersignConcurrency
import Synchronization
import Testing

@testable import CountersignAMQP

private final class Count: Sendable {
  private let count = Atomic(0)

  var value: Int { count.load(ordering: .relaxed) }
  func add() { count.add(1, ordering: .relaxed) }
}

/// Waits that end by themselves. They are real ones: what is tested is that each is woken for.
struct DeadlinesTests {
  @Test(.timeLimit(.minutes(10))) func `Each wait ends and none before its time`()
    async
  {
    let deadlines = Deadlines()
    let start = ContinuousClock.now
    // In an order in which the queue has to be woken earlier than was planned.
    let delays: [Duration] = [.milliseconds(90), .milliseconds(10), .milliseconds(50), .zero, .milliseconds(-5)]
    let early = Count()
    await withTaskGroup(of: Void.self) { group in
      for delay in delays {
        group.addTask {
          let latch = Latch()
          _ = deadlines.add(start + delay) {
            if ContinuousClock.now < start + delay { early.add() }
            latch.open()
          }
          await latch.wait()
        }
      }
    }
    #expect(early.value == 0)
  }

  @Test(.timeLimit(.minutes(10))) func `Removed deadlines do not fire`() async {
    let deadlines = Deadlines()
    let expired = Count()
    let key = deadlines.add(.now + .milliseconds(1)) { expired.add() }
    deadlines.remove(key)
    let latch = Latch()
    _ = deadlines.add(.now + .milliseconds(60)) { latch.open() }
    await latch.wait()
    #expect(expired.value == 0)
  }
}
