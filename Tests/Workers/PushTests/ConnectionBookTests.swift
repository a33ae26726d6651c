import CountersignTelemetry
import Testing

@testable import Push

@Suite struct ConnectionBookTests {
  private let now = Sample.moment

  private func widened(_ book: inout ConnectionBook, _ count: Int) {
    let ids = (0..<count).map { _ in book.take().id }
    for id in ids { _ = book.give(back: id, .taken, now: now) }
  }

  @Test func aNewConnectionCarriesOnePush() {
    var book = ConnectionBook(limit: 3, width: 10)
    let firstChoice = (0..<3).map { _ in book.take().id }
    #expect(firstChoice == [1, 2, 3])
    // Then they share.
    let secondChoice = (0..<3).map { _ in book.take().id }
    #expect(Set(secondChoice) == [1, 2, 3])
    #expect(book.connections.map(\.open) == [2, 2, 2])
  }

  @Test func onceItTookAPushOneConnectionIsEnough() {
    var book = ConnectionBook(limit: 3, width: 10)
    let chosen = book.take()
    #expect(chosen == (1, true))
    let isGivenUp = book.give(back: 1, .taken, now: now)
    #expect(!isGivenUp)
    let taken = (0..<11).map { _ in book.take() }
    #expect(taken.prefix(10).allSatisfy { $0 == (1, false) })
    #expect(taken[10] == (2, true))
  }

  @Test func aRefusalNarrowsAndAPushThatIsTakenWidens() {
    var book = ConnectionBook(limit: 2, width: 10)
    widened(&book, 1)
    let firstChoice = book.take().id
    #expect(firstChoice == 1)
    _ = book.give(back: 1, .refused, now: now)
    #expect(book.connections[0].isNarrow)
    let secondChoice = book.take().id
    #expect(secondChoice == 1)
    let thirdChoice = book.take()
    #expect(thirdChoice == (2, true))
    _ = book.give(back: 1, .taken, now: now)
    #expect(!book.connections[0].isNarrow)
    _ = book.take()
    _ = book.give(back: 1, .answered, now: now)
    #expect(!book.connections[0].isNarrow)
  }

  /// Of 100 pushes that are refused one after the other, none narrows what the good ones go over.
  @Test func refusalsInARowDoNotStallTheGoodOnes() {
    var book = ConnectionBook(limit: 4, width: 10)
    widened(&book, 4)
    for _ in 0..<100 {
      let bad = book.take().id
      _ = book.give(back: bad, .refused, now: now)
    }
    // Three of the four may have been narrowed by then; what is not is chosen first.
    let good = book.take().id
    #expect(book.connections.filter { $0.open > 0 }.count == 1)
    _ = book.give(back: good, .taken, now: now)
    // All of them narrow: each still takes one push at once, and is wide again after it.
    let all = (0..<4).map { _ in book.take().id }
    for id in all { _ = book.give(back: id, .refused, now: now) }
    let firstChoice = (0..<4).map { _ in book.take().id }
    #expect(Set(firstChoice).count == 4)
    _ = book.give(back: 1, .taken, now: now)
    let secondChoice = (0..<10).map { _ in book.take().id }
    #expect(secondChoice == Array(repeating: 1, count: 10))
  }

  @Test func narrowConnectionsGetFewerOfWhatHasToWait() {
    var book = ConnectionBook(limit: 2, width: 2)
    widened(&book, 2)
    _ = book.take()
    _ = book.give(back: 1, .refused, now: now)
    for _ in 0..<30 { _ = book.take() }
    #expect(book.connections.map(\.open) == [1, 29])
  }

  @Test func aConnectionThatNeverAnswersIsGivenUp() {
    var book = ConnectionBook(limit: 1, width: 10)
    let firstChoice = book.take()
    #expect(firstChoice == (1, true))
    let firstGivesUp = book.give(back: 1, .silent(since: now), now: now + .seconds(3))
    #expect(firstGivesUp)
    #expect(book.connections.isEmpty)
    let secondChoice = book.take()
    #expect(secondChoice == (2, true))
    // What was under way on the old one reports to nobody.
    let secondGivesUp = book.give(back: 1, .silent(since: now), now: now + .seconds(3))
    #expect(!secondGivesUp)
    #expect(book.connections.map(\.open) == [1])
  }

  @Test func oneThatAnswersOthersIsKept() {
    var book = ConnectionBook(limit: 1, width: 10)
    widened(&book, 1)
    _ = book.take()
    _ = book.take()
    _ = book.give(back: 1, .taken, now: now + .seconds(1))
    let firstGivesUp = book.give(back: 1, .silent(since: now), now: now + .seconds(3))
    #expect(!firstGivesUp)
    #expect(book.connections.map(\.open) == [0])
    _ = book.take()
    let secondGivesUp = book.give(back: 1, .silent(since: now + .seconds(2)), now: now + .seconds(5))
    #expect(secondGivesUp)
  }

  @Test func whatIsUselessIsGivenUp() {
    var book = ConnectionBook(limit: 2, width: 1)
    widened(&book, 2)
    let id = book.take().id
    let firstGivesUp = book.give(back: id, .useless, now: now)
    #expect(firstGivesUp)
    #expect(book.connections.count == 1)
    _ = book.take()
    let secondGivesUp = book.give(back: book.connections[0].id, .lost, now: now)
    #expect(!secondGivesUp)
    #expect(book.connections[0].isNarrow)
    book.giveUpAll()
    #expect(book.connections.isEmpty)
  }
}
