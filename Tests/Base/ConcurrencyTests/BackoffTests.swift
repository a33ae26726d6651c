import Testing

@testable import CountersignConcurrency

@Suite struct BackoffTests {
  private let ceilings: ClosedRange<Duration> = .milliseconds(200) ... .seconds(15)

  private func backoff() -> Backoff {
    Backoff(ceilings, minDelay: .milliseconds(10), stableAfter: .seconds(10))
  }

  @Test func `The ceiling doubles up to the maximum`() {
    var backoff = backoff()
    let delays = (0..<9).map { _ in backoff.next(random: 0.999_999) }
    let expected: [Double] = [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 15, 15]
    for (delay, limit) in zip(delays, expected) {
      #expect(delay <= .seconds(limit))
      #expect(delay > .seconds(limit * 0.99))
    }
  }

  @Test func `Full jitter goes down to the shortest delay, and never below it`() {
    var backoff = backoff()
    #expect(backoff.next(random: 0) == .milliseconds(10))
    #expect(backoff.next(random: 0.5) == .milliseconds(200))
  }

  @Test func `A base delay is added to the random part`() {
    var backoff = backoff()
    #expect(backoff.next(after: .seconds(5), random: 0) == .seconds(5))
    #expect(backoff.next(after: .seconds(5), random: 0.5) == .milliseconds(5_200))
  }

  @Test func `Only a connection that lived long enough starts the delays over`() {
    var backoff = backoff()
    for _ in 0..<5 { _ = backoff.next(random: 0) }
    backoff.recordEnd(after: .seconds(9))
    #expect(backoff.next(random: 0.5) == .milliseconds(3_200))
    backoff.recordEnd(after: .seconds(10))
    #expect(backoff.next(random: 0.5) == .milliseconds(100))
  }

  @Test func `Half jitter stays between half the ceiling and the ceiling, for any number of failures`() {
    let backoff = Backoff(.seconds(1) ... .seconds(60), jitter: .half)
    for (failures, ceiling) in [(1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (1_000_000, 60)] {
      #expect(backoff.delay(after: failures, random: 0) == .seconds(ceiling) / 2)
      #expect(backoff.delay(after: failures, random: 0.5) == .seconds(ceiling) * 0.75)
    }
  }
}
