import CountersignTelemetry
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

/// A sliding window without any storage: the times of all events, rounded as the rule does.
private struct PlainWindow {
  let rule: LimitRule
  var times: [Int64] = []

  mutating func record(at now: UnixTime) {
    let at = rule.rounded(now)
    // Of a clock that was ahead: what is more than a window away never happened, the rest happened now.
    times.removeAll { $0 - rule.windowMilliseconds > now.milliseconds }
    let latest = rule.rounded(now + StoreLimits.maxAhead)
    times = times.map { $0 > latest ? at : $0 } + [at]
  }

  private func counted(at now: UnixTime) -> [Int64] {
    let window = rule.windowMilliseconds
    return times.filter { now.milliseconds < $0 + window && $0 - window <= now.milliseconds }.sorted()
  }

  func count(at now: UnixTime) -> Int { counted(at: now).count }

  func wait(at now: UnixTime) -> Duration? {
    let counted = counted(at: now)
    guard counted.count >= rule.limit else { return nil }
    // So many have to be over that one more fits.
    let over = counted.count - rule.limit
    guard over < counted.count else { return rule.window }
    return .milliseconds(counted[over] + rule.windowMilliseconds - now.milliseconds)
  }

  mutating func purge(at now: UnixTime) { times.removeAll { $0 + rule.windowMilliseconds <= now.milliseconds } }
}

@Suite struct SlidingWindowTests {
  static let rules = [
    LimitRule(sliding: "s", limit: 0, window: .seconds(600)),
    LimitRule(sliding: "s", limit: 1, window: .seconds(600)),
    LimitRule(sliding: "s", limit: 5, window: .seconds(600)),
    LimitRule(sliding: "s", limit: 20, window: .seconds(600)),
    LimitRule(sliding: "s", limit: LimitRule.maxEntries, window: .seconds(600)),
    LimitRule(sliding: "s", limit: LimitRule.maxEntries + 1, window: .seconds(600)),
    LimitRule(sliding: "w", limit: 2_000, window: .seconds(86_400)),
    LimitRule(daily: "d", limit: 30),
  ]

  @Test(arguments: rules.indices, [1, 2])
  func `They count and wait like a list of all events, whatever the clock does`(rule index: Int, seed: UInt64) throws {
    let rule = Self.rules[index]
    var random = SplitMix(state: seed &* 1_000 &+ UInt64(index))
    // The pepper is changed in the middle.
    let subjects = [LimitSubject(key: "n1", earlierKey: nil), LimitSubject(key: "n2", earlierKey: "n1")]
    let counters = try subjects.map { try LimitCounter($0, rule) }
    var plain = PlainWindow(rule: rule)
    let store = MemoryUsage()
    var now = UnixTime(seconds: 1_780_000_000)
    let window = rule.windowMilliseconds
    let steps = 1_000
    for step in 0..<steps {
      // The maintenance runs each second, so it has seen what is over before the clock is set.
      store.purge(at: now)
      plain.purge(at: now)
      // The clock goes on, and is set at times: by little, within the window, and by several.
      switch Int.random(in: 0..<100, using: &random) {
      case 0: now = now + .milliseconds(Int64.random(in: -3 * window...3 * window, using: &random))
      case 1: now = now + .milliseconds(Int64.random(in: -window...window, using: &random))
      case 2...4: now = now + .milliseconds(Int64.random(in: -window / 50...0, using: &random))
      case 5...20: break
      default:
        now = now + .milliseconds(Int64.random(in: 0...window / Int64(max(rule.limit, 4)) * 2, using: &random))
      }
      let counter = counters[step < steps / 2 ? 0 : 1]
      let stored = try counter.window(at: now, in: store)
      #expect(stored.count(at: now, rule) == plain.count(at: now), "step \(step)")
      #expect(stored.wait(at: now, rule) == plain.wait(at: now), "step \(step)")
      // Some events count although the limit is reached: wrong codes do.
      if plain.wait(at: now) == nil || Int.random(in: 0..<8, using: &random) == 0 {
        try counter.record(at: now, in: store)
        plain.record(at: now)
      }
    }
  }

  @Test func `A clock that is set back again and again hides nothing behind what it has left`() throws {
    let rule = LimitRule(sliding: "s", limit: LimitRule.maxEntries, window: .seconds(600))
    let counter = try LimitCounter(.everybody, rule)
    let store = MemoryUsage()
    let begin = UnixTime(seconds: 1_780_000_000)
    // None of them is set back.
    for index in 0..<40 { try counter.record(at: begin + .milliseconds(index), in: store) }
    for round in 1...20 {
      for index in 1...20 { try counter.record(at: begin + .milliseconds(20_000 * index + round), in: store) }
      let now = begin + .milliseconds(100)
      #expect(try counter.window(at: now, in: store).count(at: now, rule) == 40 + 20 * round)
    }
    // Events counted ahead count as of the next event.
    let last = begin + .milliseconds(620_021)
    #expect(try counter.window(at: last, in: store).count(at: last, rule) == 19)
  }

  @Test func `Events of a clock that is a little ahead stay where they are, and count`() throws {
    for rule in Self.rules where rule.limit > 1 {
      let counter = try LimitCounter(.everybody, rule)
      let store = MemoryUsage()
      // A minute before a day begins, and right before it.
      for begin in [UnixTime(seconds: 1_780_012_740), UnixTime(seconds: 1_780_012_799)] {
        let before = try counter.window(at: begin, in: store).count(at: begin, rule)
        let ahead = begin + StoreLimits.maxAhead
        try counter.record(at: ahead, in: store)
        let slots = try counter.window(at: begin, in: store).cells.map(\.slot)
        #expect(slots.last == rule.rounded(ahead))
        try counter.record(at: begin, in: store)
        let window = try counter.window(at: begin, in: store)
        #expect(window.cells.last?.slot == rule.rounded(ahead))
        #expect(window.count(at: begin, rule) == before + 2)
      }
    }
  }

  @Test func `Several of one batch count one by one`() throws {
    let rule = LimitRule(sliding: "s", limit: 3, window: .seconds(600))
    let counter = try LimitCounter(.everybody, rule)
    let now = UnixTime(seconds: 1_780_000_000)
    let taken = try MemoryUsage().transact(at: now) { set in
      var taken = 0
      for _ in 0..<10 where counter.window(in: set).wait(at: now, rule) == nil {
        counter.record(in: &set)
        taken += 1
      }
      return taken
    }
    #expect(taken == 3)
  }

  @Test func `A counter that was not loaded is missed, whether it is asked or counted`() throws {
    let counter = try LimitCounter(.everybody, LimitRule(daily: "d", limit: 3))
    var set = WorkingSet(at: UnixTime(seconds: 1_780_000_000))
    #expect(counter.window(in: set).cells.isEmpty && set.missed.take().counters.count == 1)
    counter.record(in: &set)
    #expect(set.missed.take().counters.count == 1)
  }
}
