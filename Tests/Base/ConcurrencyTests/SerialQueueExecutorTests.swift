import Dispatch
import Testing

@testable import CountersignConcurrency

@Suite struct SerialQueueExecutorTests {
  private actor Counter {
    nonisolated let executor = SerialQueueExecutor(label: "test.counter")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private(set) var count = 0

    func increment() {
      dispatchPrecondition(condition: .onQueue(executor.queue))
      count += 1
    }

    nonisolated func incrementFromQueue() async {
      await withCheckedContinuation { continuation in
        executor.queue.async {
          self.assumeIsolated { $0.increment() }
          continuation.resume()
        }
      }
    }
  }

  @Test(.timeLimit(.minutes(10)))
  func `Actor calls and blocks of the queue run on the same queue, one at a time`() async {
    let counter = Counter()
    await withDiscardingTaskGroup { group in
      for number in 0..<200 {
        group.addTask {
          if number.isMultiple(of: 2) { await counter.increment() } else { await counter.incrementFromQueue() }
        }
      }
    }
    #expect(await counter.count == 200)
  }

  @Test(
    arguments: [
      (Duration.milliseconds(1_500), Int64(1_500_000_000)), (.zero, 0), (.seconds(-2), -2_000_000_000),
      (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
    ])
  func `Durations beyond the range of Dispatch are clamped`(duration: Duration, nanoseconds: Int64) {
    #expect(duration.nanoseconds == nanoseconds)
    #expect(duration.dispatchInterval == .nanoseconds(Int(nanoseconds)))
  }
}
