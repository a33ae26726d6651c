import Testing

@testable import Benchmarks

@Suite(.timeLimit(.minutes(10))) struct ArrivalsTests {
  private let arrivals = Arrivals<String>()

  @Test("Arrived messages are available") func arrivedMessagesAreAvailable() async {
    let now = ContinuousClock.now
    arrivals.add("123456", for: "a", at: now)
    let arrival = await arrivals.next(for: "a")
    #expect(arrival?.content == "123456")
    #expect(arrival?.at == now)
  }

  @Test("Each waiter gets its own message") func eachWaiterGetsItsOwnMessage() async {
    async let first = arrivals.next(for: "a")
    async let second = arrivals.next(for: "b")
    arrivals.add("2", for: "b", at: .now)
    arrivals.add("1", for: "a", at: .now)
    #expect(await first?.content == "1")
    #expect(await second?.content == "2")
    #expect(arrivals.repeated == 0)
  }

  @Test("Repeated messages are counted") func repeatedMessagesAreCounted() {
    for recipient in ["a", "b", "a", "a"] { arrivals.add("x", for: recipient, at: .now) }
    #expect(arrivals.repeated == 2)
  }

  @Test("A wait ends without an arrival") func aWaitEndsWithoutAnArrival() async {
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
