import Testing

@testable import CountersignConcurrency

@Suite("One-shot value", .timeLimit(.minutes(10))) struct OneShotTests {
  private final class Holder: Sendable {
    private let slot = OneShot<Int>()
    var isResolved: Bool { slot.isResolved }
    func resolve(_ value: Int) -> Bool { slot.resolve(value) }
    func value() async -> Int { await slot.value() }
  }

  @Test func `A value set before the wait is returned at once`() async {
    let holder = Holder()
    #expect(!holder.isResolved)
    #expect(holder.resolve(1))
    #expect(holder.isResolved)
    #expect(await holder.value() == 1)
  }

  @Test func `A value set during the wait resumes it`() async {
    let holder = Holder()
    let task = Task { await holder.value() }
    for _ in 0..<100 { await Task.yield() }
    #expect(holder.resolve(2))
    #expect(await task.value == 2)
  }

  @Test func `Of many values set at once exactly one counts`() async {
    for _ in 0..<200 {
      let holder = Holder()
      let task = Task { await holder.value() }
      let winners = await withTaskGroup(of: Int?.self) { group in
        for number in 0..<8 { group.addTask { holder.resolve(number) ? number : nil } }
        var winners: [Int] = []
        for await winner in group { if let winner { winners.append(winner) } }
        return winners
      }
      #expect(winners.count == 1)
      #expect(await task.value == winners.first)
    }
  }

  @Test func `Canceling the task does not end the wait`() async {
    let holder = Holder()
    let task = Task { await holder.value() }
    task.cancel()
    for _ in 0..<100 { await Task.yield() }
    #expect(holder.resolve(3))
    #expect(await task.value == 3)
  }
}
