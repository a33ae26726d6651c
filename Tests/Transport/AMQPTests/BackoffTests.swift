import Testing

@testable import CountersignAMQP

struct BackoffTests {
  private let bounds = ConnectionOptions.ReconnectDelay(min: .milliseconds(200), max: .seconds(15))

  @Test func theCeilingDoublesUpToTheMaximum() {
    var backoff = Backoff(bounds)
    let ceilings = (0..<9).map { _ in backoff.next(random: 0.999_999) }
    let expected: [Double] = [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 15, 15]
    for (delay, limit) in zip(ceilings, expected) {
      #expect(delay <= .seconds(limit))
      #expect(delay > .seconds(limit * 0.99))
    }
  }

  @Test func theJitterIsFullButNeverZero() {
    var backoff = Backoff(bounds)
    #expect(backoff.next(random: 0) == Backoff.floor)
    #expect(backoff.next(random: 0.5) == .milliseconds(200))
  }

  @Test func onlyAConnectionThatLivedResetsTheCeiling() {
    var backoff = Backoff(bounds)
    for _ in 0..<5 { _ = backoff.next(random: 0) }
    backoff.connectionEnded(after: .seconds(9))
    #expect(backoff.ceiling == .milliseconds(6400))
    backoff.connectionEnded(after: .seconds(10))
    #expect(backoff.ceiling == .milliseconds(200))
  }
}
