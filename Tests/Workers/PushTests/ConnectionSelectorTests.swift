import CountersignTelemetry
import Testing

@testable import Push

@Suite struct ConnectionSelectorTests {
  private let now = Sample.moment

  private func widened(_ selector: inout ConnectionSelector, _ count: Int) {
    let ids = (0..<count).map { _ in selector.take().id }
    for id in ids { _ = selector.give(back: id, .taken, now: now) }
  }

  @Test func `A new connection carries one push`() {
    var selector = ConnectionSelector(limit: 3, width: 10)
    let firstChoice = (0..<3).map { _ in selector.take().id }
    #expect(firstChoice == [1, 2, 3])
    // Then they share.
    let secondChoice = (0..<3).map { _ in selector.take().id }
    #expect(Set(secondChoice) == [1, 2, 3])
    #expect(selector.connections.map(\.open) == [2, 2, 2])
  }

  @Test func `Once it took a push one connection is enough`() {
    var selector = ConnectionSelector(limit: 3, width: 10)
    let chosen = selector.take()
    #expect(chosen == (1, true))
    let isGivenUp = selector.give(back: 1, .taken, now: now)
    #expect(!isGivenUp)
    let taken = (0..<11).map { _ in selector.take() }
    #expect(taken.prefix(10).allSatisfy { $0 == (1, false) })
    #expect(taken[10] == (2, true))
  }

  @Test func `A refusal narrows and a push that is taken widens`() {
    var selector = ConnectionSelector(limit: 2, width: 10)
    widened(&selector, 1)
    let firstChoice = selector.take().id
    #expect(firstChoice == 1)
    _ = selector.give(back: 1, .refused, now: now)
    #expect(selector.connections[0].isNarrow)
    let secondChoice = selector.take().id
    #expect(secondChoice == 1)
    let thirdChoice = selector.take()
    #expect(thirdChoice == (2, true))
    _ = selector.give(back: 1, .taken, now: now)
    #expect(!selector.connections[0].isNarrow)
    _ = selector.take()
    _ = selector.give(back: 1, .answered, now: now)
    #expect(!selector.connections[0].isNarrow)
  }

  /// Of 100 pushes that are refused one after the other, none narrows what the good ones go over.
  @Test func `Refusals in a row do not stall the good ones`() {
    var selector = ConnectionSelector(limit: 4, width: 10)
    widened(&selector, 4)
    for _ in 0..<100 {
      let bad = selector.take().id
      _ = selector.give(back: bad, .refused, now: now)
    }
    // Three of the four may have been narrowed by then; what is not is chosen first.
    let good = selector.take().id
    #expect(selector.connections.filter { $0.open > 0 }.count == 1)
    _ = selector.give(back: good, .taken, now: now)
    // All of them narrow: each still takes one push at once, and is wide again after it.
    let all = (0..<4).map { _ in selector.take().id }
    for id in all { _ = selector.give(back: id, .refused, now: now) }
    let firstChoice = (0..<4).map { _ in selector.take().id }
    #expect(Set(firstChoice).count == 4)
    _ = selector.give(back: 1, .taken, now: now)
    let secondChoice = (0..<10).map { _ in selector.take().id }
    #expect(secondChoice == Array(repeating: 1, count: 10))
  }

  @Test func `Narrow connections get fewer of what has to wait`() {
    var selector = ConnectionSelector(limit: 2, width: 2)
    widened(&selector, 2)
    _ = selector.take()
    _ = selector.give(back: 1, .refused, now: now)
    for _ in 0..<30 { _ = selector.take() }
    #expect(selector.connections.map(\.open) == [1, 29])
  }

  @Test func `A connection that never answers is given up`() {
    var selector = ConnectionSelector(limit: 1, width: 10)
    let firstChoice = selector.take()
    #expect(firstChoice == (1, true))
    let firstGivesUp = selector.give(back: 1, .silent(since: now), now: now + .seconds(3))
    #expect(firstGivesUp)
    #expect(selector.connections.isEmpty)
    let secondChoice = selector.take()
    #expect(secondChoice == (2, true))
    // What was under way on the old one reports to nobody.
    let secondGivesUp = selector.give(back: 1, .silent(since: now), now: now + .seconds(3))
    #expect(!secondGivesUp)
    #expect(selector.connections.map(\.open) == [1])
  }

  @Test func `One that answers others is kept`() {
    var selector = ConnectionSelector(limit: 1, width: 10)
    widened(&selector, 1)
    _ = selector.take()
    _ = selector.take()
    _ = selector.give(back: 1, .taken, now: now + .seconds(1))
    let firstGivesUp = selector.give(back: 1, .silent(since: now), now: now + .seconds(3))
    #expect(!firstGivesUp)
    #expect(selector.connections.map(\.open) == [0])
    _ = selector.take()
    let secondGivesUp = selector.give(back: 1, .silent(since: now + .seconds(2)), now: now + .seconds(5))
    #expect(secondGivesUp)
  }

  @Test func `Useless connections are closed`() {
    var selector = ConnectionSelector(limit: 2, width: 1)
    widened(&selector, 2)
    let id = selector.take().id
    let firstGivesUp = selector.give(back: id, .useless, now: now)
    #expect(firstGivesUp)
    #expect(selector.connections.count == 1)
    _ = selector.take()
    let secondGivesUp = selector.give(back: selector.connections[0].id, .lost, now: now)
    #expect(!secondGivesUp)
    #expect(selector.connections[0].isNarrow)
    selector.giveUpAll()
    #expect(selector.connections.isEmpty)
  }
}
