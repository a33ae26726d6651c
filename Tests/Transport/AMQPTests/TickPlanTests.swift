import Testing

@testable import CountersignAMQP

struct TickPlanTests {
  private let start = ContinuousClock.now

  private func next(_ due: Duration?) -> Duration {
    start.duration(to: TickPlan.next(after: start, regular: .seconds(5), due: due.map { start + $0 }))
  }

  @Test func `Whatever is due first`() {
    #expect(next(nil) == .seconds(5))
    #expect(next(.seconds(2)) == .seconds(2))
    #expect(next(.seconds(7)) == .seconds(5))
  }

  @Test func `Overdue ticks take few turns`() {
    #expect(next(.zero) == TickPlan.floor)
    var now = start
    var turns = 0
    while now < start + .seconds(10) {
      now = TickPlan.next(after: now, regular: .seconds(5), due: start - .seconds(1))
      turns += 1
    }
    #expect(turns <= 400)
  }
}
