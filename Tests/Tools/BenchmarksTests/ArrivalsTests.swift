import Testing

@testable import Benchmarks

@Suite(.timeLimit(.minutes(10))) struct ArrivalsTests {
  private let arrivals = Arrivals<String>()

  @Test func `Arrived messages are available`() async {
    let now = ContinuousClock.now
    arrivals.add("123456", for: "a", at: now)
    let arrival = await arrivals.next(for: "a")
    #expect(arrival?.content == "123456")
    #expect(arrival?.at == now)
  }

  @Test func `Each waiter gets its own message`() async {
    async let first = arrivals.next(for: "a")
    async let second = arrivals.next(for: "b")
    arrivals.add("2", for: "b", at: .now)
    arrivals.add("1", for: "a", at: .now)
    #expect(await first?.content == "1")
    #expect(await second?.content == "2")
    #expect(arrivals.repeated == 0)
  }

  @Test func `Repeated messages are counted`() {
    for recipient in ["a", "b", "a", "a"] { arrivals.add("x", for: recipient, at: .now) }
    #expect(arrivals.repeated == 2)
  }

  @Test func `A wait ends without an arrival`() async {
    let waiting = Task { await arrivals.next(for: "a") == nil }
    let watch = Task {
      while !Task.isCancelled {
        arrivals.giveUp(after: .zero)
        await Task.yield()
      }
    }
    #expect(await waiting.value)
    watch.cancel()
  }
}
