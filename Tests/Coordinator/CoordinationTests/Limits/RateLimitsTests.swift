import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Testing

@testable import Coordination

@Suite struct RateLimitsTests {
  let begin = UnixTime(rfc3339: "2026-07-01T12:00:00Z") ?? UnixTime(seconds: 0)
  let book: RateLimits
  let store = MemoryUsage()

  init() throws { book = try RateLimits(Limits()) }

  func send(_ number: String = "+14155550123", region: String = "US", unknown: Bool = false, ip: String? = nil)
    -> LimitedSend
  {
    LimitedSend(number: number, region: region, isUnknownType: unknown, address: ip.flatMap(ClientAddress.init))
  }

  @Test func `Five messages to a number within ten minutes, and the wait is exact`() throws {
    for seconds in [0, 30, 90, 210, 330] {
      #expect(try book.admit(send(), at: begin + .seconds(seconds), in: store) == nil)
    }
    let refusal = try book.admit(send(), at: begin + .seconds(450), in: store)
    #expect(refusal == LimitRefusal(limit: .sendsPerNumberPer10Minutes, figure: 5, wait: .seconds(150)))
    #expect(try book.admit(send(), at: begin + .milliseconds(599_999), in: store) != nil)
    #expect(try book.admit(send(), at: begin + .seconds(600), in: store) == nil)
  }

  @Test func `Ten messages to a number within a day`() throws {
    for index in 0..<10 {
      #expect(try book.admit(send(), at: begin + .seconds(index * 700), in: store) == nil)
    }
    let refusal = try book.admit(send(), at: begin + .seconds(10_000), in: store)
    #expect(refusal == LimitRefusal(limit: .sendsPerNumberPerDay, figure: 10, wait: .seconds(76_400)))
  }

  @Test func `Refused commands are not counted anywhere`() throws {
    for _ in 0..<5 { _ = try book.admit(send(), at: begin, in: store) }
    let before = store.counts
    #expect(try book.admit(send(ip: "192.0.2.1"), at: begin, in: store) != nil)
    #expect(store.counts == before)
  }

  @Test func `Twenty messages to a prefix, five where the type is unknown`() throws {
    for index in 0..<20 {
      #expect(try book.admit(send("+1415555\(1000 + index)"), at: begin, in: store) == nil)
    }
    #expect(try book.admit(send("+14155551999"), at: begin, in: store)?.limit == .sendsPerPrefixPer10Minutes)
    #expect(try book.admit(send("+14155561999"), at: begin, in: store) == nil)
    for index in 0..<5 {
      #expect(try book.admit(send("+2346666\(1000 + index)", unknown: true), at: begin, in: store) == nil)
    }
    #expect(
      try book.admit(send("+23466661999", unknown: true), at: begin, in: store)?.limit
        == .sendsToUnknownTypePerPrefixPer10Minutes)
    #expect(try book.admit(send("+23466661999"), at: begin, in: store) == nil)
  }

  @Test func `Thirty messages to an address within an hour; an IPv6 /64 is one address`() throws {
    for index in 0..<30 {
      #expect(
        try book.admit(send("+141\(5_000_000 + index)0000", ip: "2001:db8::\(index + 1)"), at: begin, in: store) == nil)
    }
    #expect(
      try book.admit(send("+33612345678", ip: "2001:db8::ffff:1"), at: begin, in: store)?.limit
        == .sendsPerAddressPerHour)
    #expect(try book.admit(send("+33612345678", ip: "2001:db8:0:1::1"), at: begin, in: store) == nil)
    #expect(try book.admit(send("+33612345678"), at: begin, in: store) == nil)
  }

  @Test(arguments: ["192.0.2.%d", "2001:db8:0:%x::1"])
  func `The network around an address, an IPv4 /24 or IPv6 /48, has ten times as many`(form: String) throws {
    func from(_ index: Int) -> String {
      form.replacing("%d", with: "\(index)").replacing("%x", with: String(index, radix: 16))
    }
    for index in 0..<300 {
      // Each address asks once or twice.
      let number = "+141\(5_000_000 + index)0000"
      #expect(try book.admit(send(number, ip: from(index % 200)), at: begin, in: store) == nil)
    }
    let refusal = try #require(try book.admit(send("+33612345678", ip: from(201)), at: begin, in: store))
    #expect(refusal.limit == .sendsPerAddressPerHour && refusal.isOfNetwork && refusal.figure == 300)
    #expect(APIError(refusal).message.contains("from the network of this address"))
    for other in ["192.0.3.201", "2001:db8:1:201::1"] {
      #expect(try book.admit(send("+33612345678", ip: other), at: begin, in: store) == nil)
    }
    var limits = Limits()
    limits.networkFactor = 11
    #expect(try RateLimits(limits).admit(send("+33612345679", ip: from(201)), at: begin, in: store) == nil)
  }

  @Test func `A country's budget lasts until midnight UTC`() throws {
    var limits = Limits()
    limits.countryBudgets = ["FR": 2]
    let book = try RateLimits(limits)
    for index in 0..<2 {
      #expect(try book.admit(send("+3361\(index)345678", region: "FR"), at: begin, in: store) == nil)
    }
    let refusal = try book.admit(send("+33655345678", region: "FR"), at: begin, in: store)
    #expect(refusal == LimitRefusal(limit: .sendsPerCountryPerDay, figure: 2, wait: .seconds(43_200)))
    #expect(try book.admit(send(), at: begin, in: store) == nil)
    #expect(try book.admit(send("+33655345678", region: "FR"), at: begin + .seconds(43_200), in: store) == nil)
  }

  @Test func `A budget of zero refuses everything`() throws {
    var limits = Limits()
    limits[.sendsPerDay] = 0
    #expect(try RateLimits(limits).admit(send(), at: begin, in: store)?.limit == .sendsPerDay)
  }

  @Test func `A clock that was ahead for a while uses up no more than the budget of its day`() throws {
    for ahead in [Duration.seconds(13 * 3600), .seconds(10 * 86_400)] {
      let store = MemoryUsage()
      // Ten a day for a number; the clock is ahead for the first nine.
      for index in 0..<9 {
        #expect(try book.admit(send(), at: begin + ahead + .seconds(index * 700), in: store) == nil)
      }
      var taken = 0
      for index in 0..<20 where try book.admit(send(), at: begin + .seconds(index * 700), in: store) == nil {
        taken += 1
      }
      #expect(taken == (ahead > .seconds(86_400) ? 10 : 1))
      // A day later nothing of it counts, although the first clock has not come so far.
      #expect(try book.admit(send(), at: begin + .seconds(86_400 + 14_000), in: store) == nil)
    }
    let rule = LimitRule(daily: "d", limit: 5)
    let counter = try LimitCounter(.everybody, rule)
    try counter.record(at: begin + .seconds(13 * 3600), in: store)
    try counter.record(at: begin, in: store)
    let window = try counter.window(at: begin, in: store)
    #expect(window.cells.filter { $0.count > 0 }.map(\.slot) == [rule.rounded(begin)])
    #expect(window.count(at: begin, rule) == 2)
    #expect(window.wait(at: begin, rule) == nil)
  }

  @Test func `What a clock that was far ahead has counted does not count either once that time comes`() throws {
    let rule = LimitRule(sliding: "s", limit: 5, window: .seconds(600))
    let counter = try LimitCounter(.everybody, rule)
    let ahead = begin + .seconds(86_400)
    for _ in 0..<5 { try counter.record(at: ahead, in: store) }
    try counter.record(at: begin, in: store)
    #expect(try counter.window(at: begin, in: store).count(at: begin, rule) == 1)
    #expect(try counter.window(at: ahead, in: store).count(at: ahead, rule) == 0)
  }

  @Test func `A large limit keeps few entries and still counts right`() throws {
    let rule = LimitRule(sliding: "s", limit: 10_000, window: .seconds(600))
    let counter = try LimitCounter(.everybody, rule)
    for index in 0..<10_000 { try counter.record(at: begin + .milliseconds(index * 60), in: store) }
    let end = begin + .milliseconds(9_999 * 60)
    let window = try counter.window(at: end, in: store)
    #expect(window.cells.count <= LimitRule.maxEntries + 1)
    let count = window.count(at: end, rule)
    #expect(count > 9_800 && count <= 10_000)
  }

  @Test func `The ten minutes of a number are counted with its day, where both count each message at its own time`()
    throws
  {
    var limits = Limits()
    limits[.sendsPerNumberPer10Minutes] = 2
    limits[.sendsPerNumberPerDay] = 3
    let send = LimitedSend(number: "+14155550123", region: "US", isUnknownType: false)
    func ask(after seconds: Int) throws -> Limit? {
      try RateLimits(limits).admit(send, at: begin + .seconds(seconds), in: store)?.limit
    }
    #expect(try ask(after: 0) == nil && ask(after: 1) == nil && ask(after: 2) == .sendsPerNumberPer10Minutes)
    #expect(try ask(after: 700) == nil && ask(after: 1_400) == .sendsPerNumberPerDay)
    func isCountedApart() -> Bool { store.counts.keys.contains { $0.hasPrefix("n") && $0.hasSuffix(":s") } }
    #expect(!isCountedApart())
    // By 64ths of a day, ten minutes cannot be told.
    limits[.sendsPerNumberPerDay] = LimitRule.maxEntries + 1
    #expect(try ask(after: 2_100) == nil && isCountedApart())
  }

  @Test func `Counts survive being stored, under names of their own, until they are over`() throws {
    let short = LimitRule(sliding: "s", limit: 5, window: .seconds(600))
    let day = LimitRule(daily: "d", limit: 5)
    let (shortCounter, dayCounter) = (try LimitCounter(.everybody, short), try LimitCounter(.everybody, day))
    try shortCounter.record(at: begin, in: store)
    try shortCounter.record(at: begin + .milliseconds(1), in: store)
    try dayCounter.record(at: begin, in: store)
    #expect(
      store.counts == [
        "*:s": [begin.milliseconds: 1, begin.milliseconds + 1: 1],
        "*:d": [(begin - .seconds(43_200)).milliseconds: 1],
      ])
    #expect(store.end(of: try CounterKey(Array("*:s".utf8))) == begin + .milliseconds(600_001))
    #expect(store.end(of: try CounterKey(Array("*:d".utf8))) == begin + .seconds(43_200))
    store.purge(at: begin + .seconds(600))
    #expect(try shortCounter.window(at: begin, in: store).count(at: begin, short) == 1)
    store.purge(at: begin + .seconds(43_200))
    #expect(store.counts.isEmpty)
  }

  @Test func `A budget that is raised or lowered counts what was counted before`() throws {
    var limits = Limits()
    limits[.sendsPerAddressPerHour] = 200
    for index in 0..<100 {
      let number = "+141\(5_000_000 + index)0000"
      #expect(
        try RateLimits(limits).admit(send(number, ip: "192.0.2.1"), at: begin + .seconds(index), in: store) == nil)
    }
    let now = begin + .seconds(100)
    limits[.sendsPerAddressPerHour] = 50
    #expect(try RateLimits(limits).admit(send(ip: "192.0.2.1"), at: now, in: store)?.limit == .sendsPerAddressPerHour)
    limits[.sendsPerAddressPerHour] = 101
    #expect(try RateLimits(limits).admit(send(ip: "192.0.2.1"), at: now, in: store) == nil)
    #expect(try RateLimits(limits).admit(send(ip: "192.0.2.1"), at: now, in: store)?.limit == .sendsPerAddressPerHour)
  }

  @Test func `The ID of an app may be of any length`() throws {
    var limits = Limits()
    limits[.revocationsPerAppPerDay] = 1
    let book = try RateLimits(limits)
    let name = String(repeating: "a", count: 300)
    for app in ["\(name)1", "\(name)2"] {
      #expect(try book.admitRevocation(app: app, noticeTo: nil, at: begin, in: store) == nil)
      #expect(
        try book.admitRevocation(app: app, noticeTo: nil, at: begin, in: store)?.limit == .revocationsPerAppPerDay)
    }
  }

  @Test func `A forgotten number has its limits anew, and nothing of it is left under either name`() throws {
    let (old, new) = (try Pepper([UInt8](repeating: 1, count: 32)), try Pepper([UInt8](repeating: 2, count: 32)))
    let before = RateLimits(limits: Limits(), subjects: LimitSubjects(current: old))
    let after = RateLimits(limits: Limits(), subjects: LimitSubjects(current: new, previous: old))
    for _ in 0..<4 { #expect(try before.admit(send(), at: begin, in: store) == nil) }
    #expect(try after.admit(send(), at: begin, in: store) == nil)
    #expect(try after.refusal(of: send(), at: begin, in: store)?.limit == .sendsPerNumberPer10Minutes)
    let names = [after.subjects.subject(.number, "+14155550123"), after.subjects.subject(.number, "+14155550124")]
    #expect(try after.forget(names, at: begin, in: store) == 2)
    #expect(!store.counts.keys.contains { $0.hasPrefix("n") })
    #expect(try after.forget(names, at: begin, in: store) == 0)
    #expect(try after.refusal(of: send(), at: begin, in: store) == nil)
    for _ in 0..<5 { #expect(try after.admit(send(), at: begin, in: store) == nil) }
  }

  @Test(
    arguments: [
      ("192.0.2.1", "192.0.2.1/32"), ("::ffff:192.0.2.1", "192.0.2.1/32"), ("2001:db8::1", "20010db800000000/64"),
      ("", nil), ("192.0.2", nil), ("192.0.2.1:80", nil), ("fe80::1%eth0", nil), ("example.org", nil),
    ] as [(String, String?)])
  func `The network of an address`(text: String, network: String?) {
    #expect(ClientAddress(text)?.network == network)
    let wide = ["192.0.2.1/32": "192.0.2.0/24", "20010db800000000/64": "20010db80000/48"]
    #expect(network.map { ClientAddress(network: $0).wideNetwork } == network.flatMap { wide[$0] })
  }
}
