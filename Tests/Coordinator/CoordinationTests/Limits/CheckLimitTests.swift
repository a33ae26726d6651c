import CountersignMessages
import CountersignTelemetry
import Testing

@testable import Coordination

@Suite struct CheckLimitTests {
  let begin = UnixTime(rfc3339: "2026-07-01T12:00:00Z") ?? UnixTime(seconds: 0)
  let book: RateLimits
  let store = MemoryUsage()

  init() throws { book = try RateLimits(Limits()) }

  func check(
    _ number: String = "+14155550123", app: String = "a", ip: String? = nil, fictional: Bool = false,
    first: Bool = false, firstHandle: Bool = true
  ) -> LimitedCheck {
    LimitedCheck(
      app: app, number: number, address: ip.flatMap(ClientAddress.init), isFictional: fictional,
      isFirstHandle: firstHandle, isFirstCode: first)
  }

  func exhaust(
    _ book: RateLimits, _ store: MemoryUsage, _ make: (Int) -> LimitedCheck
  ) throws -> (compared: Int, refusal: LimitRefusal?) {
    for index in 0..<20_000 {
      if let refusal = try book.admitCheck(make(index), at: begin, in: store) { return (index, refusal) }
      try book.countWrong(make(index), at: begin, in: store)
    }
    return (20_000, nil)
  }

  @Test func `Ten checks for a number within an hour`() throws {
    for index in 0..<10 { #expect(try book.admitCheck(check(), at: begin + .seconds(index), in: store) == nil) }
    let refusal = try book.admitCheck(check(), at: begin + .seconds(10), in: store)
    #expect(refusal == LimitRefusal(limit: .checksPerNumberPerHour, figure: 10, wait: .seconds(3590)))
    #expect(try book.admitCheck(check("+14155550124"), at: begin, in: store) == nil)
  }

  @Test func `An address has thirty wrong codes an hour over all numbers, and right ones use up none`() throws {
    let (compared, refusal) = try exhaust(book, store) { check("+1415555\(1000 + $0)", ip: "192.0.2.1", first: true) }
    #expect(compared == 30 && refusal?.limit == .wrongCodesPerAddressPerHour)
    #expect(refusal.map { APIError($0) }?.field == "client.ip")
    #expect(try book.admitCheck(check(ip: "192.0.2.2"), at: begin, in: store) == nil)
    for index in 0..<100 {
      #expect(try book.admitCheck(check("+1415556\(1000 + index)", ip: "192.0.2.3"), at: begin, in: store) == nil)
    }
    #expect(try book.admitCheck(check(ip: "192.0.2.1"), at: begin + .seconds(3600), in: store) == nil)
  }

  @Test func `An app has a budget, and all have one, of which the first code of a verification is free`() throws {
    let (compared, refusal) = try exhaust(book, store) { check("+1415\(1_000_000 + $0)") }
    #expect(compared == 2_000 && refusal?.limit == .wrongCodesPerAppPerDay)
    #expect(refusal.map { APIError($0) }?.reason == "WRONG_CODES_USED_UP")
    #expect(try book.admitCheck(check(first: true), at: begin, in: store) == nil)
    let (others, total) = try exhaust(book, store) { check("+1416\(1_000_000 + $0)", app: "b") }
    #expect(others == 1_000 && total?.limit == .wrongCodesPerDay)
    #expect(try book.admitCheck(check("+14155550124"), at: begin + .seconds(86_400 * 65 / 64), in: store) == nil)
  }

  @Test func `Codes by later handles use up nothing of the first's`() throws {
    let (compared, refusal) = try exhaust(book, store) { _ in check(ip: "192.0.2.1", firstHandle: false) }
    #expect(compared == 10 && refusal?.limit == .checksPerNumberPerHour)
    _ = try exhaust(book, store) { check("+1415\(1_000_000 + $0)", ip: "192.0.2.1", firstHandle: false) }
    #expect(try book.admitCheck(check(ip: "192.0.2.1"), at: begin, in: store) == nil)
  }

  @Test func `With many approved codes so many more wrong ones are allowed as people mistype`() throws {
    try store.transact(at: begin) { set throws(StoreError) in
      for _ in 0..<20_000 { try book.countRight(check(), in: &set) }
    }
    let (compared, refusal) = try exhaust(book, store) { check("+1415\(1_000_000 + $0)") }
    #expect(compared == 4_000 && refusal?.limit == .wrongCodesPerAppPerDay && refusal?.figure == 4_000)
    // Another app has no more than before, and all have a share of all.
    let (others, other) = try exhaust(book, store) { check("+1416\(1_000_000 + $0)", app: "b") }
    #expect(others == 0 && other?.limit == .wrongCodesPerDay && other?.figure == 4_000)
    // A day later nothing was approved.
    let later = begin + .seconds(86_400 * 65 / 64)
    for _ in 0..<2_000 { try book.countWrong(check(), at: later, in: store) }
    #expect(try book.admitCheck(check("+14155550125"), at: later, in: store)?.figure == 2_000)
  }

  @Test func `Wrong codes count for the network around an address as well`() throws {
    let (compared, refusal) = try exhaust(book, store) {
      check("+1415\(1_000_000 + $0)", ip: "2001:db8:0:\(String($0, radix: 16))::1", first: true)
    }
    #expect(compared == 300 && refusal?.limit == .wrongCodesPerAddressPerHour && refusal?.isOfNetwork == true)
    #expect(try book.admitCheck(check(ip: "2001:db8:1::1"), at: begin, in: store) == nil)
  }

  @Test
  func `A fictional number has three wrong codes an hour from a network, thirty in all, and any number of right ones`()
    throws
  {
    func check(_ network: Int?, app: String = "a") -> LimitedCheck {
      // Each of a network of its own, from several of its addresses.
      self.check(app: app, ip: network.map { "192.0.\($0).\(store.counts.count % 200)" }, fictional: true)
    }
    for _ in 0..<1_000 { #expect(try book.admitCheck(check(1), at: begin, in: store) == nil) }
    for network in 1...10 {
      let (compared, refusal) = try exhaust(book, store) { _ in check(network) }
      #expect(compared == 3)
      #expect(network == 10 || refusal?.limit == .wrongCodesPerNetworkOfFictionalNumberPerHour)
    }
    #expect(try book.admitCheck(check(11), at: begin, in: store)?.limit == .wrongCodesPerFictionalNumberPerHour)
    #expect(try book.admitCheck(check(nil), at: begin, in: store)?.limit == .wrongCodesPerFictionalNumberPerHour)
    #expect(try book.admitCheck(check(11, app: "b"), at: begin, in: store) == nil)
    #expect(try book.admitCheck(check(1), at: begin + .seconds(3600), in: store) == nil)
  }

  @Test func `Strangers cannot lock a fictional number for a network that has given the right code within 30 days`()
    throws
  {
    let tester = check(ip: "192.0.2.1", fictional: true)
    try book.countRight(tester, at: begin, in: store)
    let later = begin + .seconds(29 * 86_400)
    for _ in 0..<100 { try book.countWrong(check(fictional: true), at: later, in: store) }
    #expect(try book.admitCheck(check(ip: "198.51.100.1", fictional: true), at: later, in: store) != nil)
    // From another address of the network: three for itself, which do not count in all.
    let total = store.counts.filter { $0.key.hasPrefix("f") && $0.key.hasSuffix(":w") }
    for _ in 0..<3 {
      #expect(try book.admitCheck(tester, at: later, in: store) == nil)
      try book.countWrong(check(ip: "192.0.2.77", fictional: true), at: later, in: store)
    }
    #expect(
      try book.admitCheck(tester, at: later, in: store)?.limit == .wrongCodesPerNetworkOfFictionalNumberPerHour)
    #expect(store.counts.filter { $0.key.hasPrefix("f") && $0.key.hasSuffix(":w") } == total)
    let end = begin + .seconds(31 * 86_400)
    for _ in 0..<100 { try book.countWrong(check(fictional: true), at: end, in: store) }
    #expect(try book.admitCheck(tester, at: end, in: store)?.limit == .wrongCodesPerFictionalNumberPerHour)
  }

  @Test func `So many networks are remembered in a day, and none for longer than 30 days and a slot`() throws {
    func known() -> Int { store.counts.keys.count { $0.hasPrefix("g") && $0.hasSuffix(":k") } }
    for index in 0..<300 {
      try book.countRight(check(ip: "198.51.\(index % 150).1", fictional: true), at: begin, in: store)
    }
    #expect(known() == 100)
    try book.countRight(check(ip: "192.0.2.1", fictional: true), at: begin + .seconds(86_400), in: store)
    #expect(known() == 101)
    store.purge(at: begin + .seconds(31 * 86_400))
    #expect(known() == 0)
  }

  @Test func `Neither number nor address nor device is in the names under which is counted`() throws {
    let send = LimitedSend(
      number: "+14155550123", region: "US", isUnknownType: true, address: ClientAddress("192.0.2.1"))
    #expect(try book.admit(send, at: begin, in: store) == nil)
    let device = try book.checks(ofDevice: TokenHash(current: [UInt8](repeating: 1, count: 32)))
    #expect(try store.transact(at: begin) { set in book.admit(device, in: &set) } == nil)
    #expect(try book.admitCheck(check(ip: "192.0.2.1"), at: begin, in: store) == nil)
    try book.countWrong(check(ip: "192.0.2.1", fictional: true), at: begin, in: store)
    _ = try book.admitRevocation(app: "a", noticeTo: "user@example.com", at: begin, in: store)
    for key in store.counts.keys {
      #expect(!key.contains("415555") && !key.contains("192.0") && !key.contains("example"))
    }
  }

  @Test func `Counts made under the former pepper still count`() throws {
    let (old, new) = (try Pepper([UInt8](repeating: 1, count: 32)), try Pepper([UInt8](repeating: 2, count: 32)))
    let before = RateLimits(limits: Limits(), subjects: LimitSubjects(current: old))
    let after = RateLimits(limits: Limits(), subjects: LimitSubjects(current: new, previous: old))
    for _ in 0..<9 { #expect(try before.admitCheck(check(), at: begin, in: store) == nil) }
    // Both count together, and new ones under the new name alone.
    let stored = store.counts
    #expect(try after.admitCheck(check(), at: begin + .seconds(1), in: store) == nil)
    #expect(store.counts.filter { stored[$0.key] != nil } == stored)
    let refusal = try after.admitCheck(check(), at: begin + .seconds(1), in: store)
    #expect(refusal == LimitRefusal(limit: .checksPerNumberPerHour, figure: 10, wait: .seconds(3599)))
  }

  @Test func `Counts made under the former pepper by a clock that was ahead count as of now`() throws {
    let (old, new) = (try Pepper([UInt8](repeating: 1, count: 32)), try Pepper([UInt8](repeating: 2, count: 32)))
    let before = RateLimits(limits: Limits(), subjects: LimitSubjects(current: old))
    let after = RateLimits(limits: Limits(), subjects: LimitSubjects(current: new, previous: old))
    for _ in 0..<9 { #expect(try before.admitCheck(check(), at: begin + .seconds(1800), in: store) == nil) }
    #expect(try after.admitCheck(check(), at: begin, in: store) == nil)
    let refusal = try after.admitCheck(check(), at: begin, in: store)
    #expect(refusal == LimitRefusal(limit: .checksPerNumberPerHour, figure: 10, wait: .seconds(3600)))
    #expect(try after.admitCheck(check(), at: begin + .seconds(3600), in: store) == nil)
  }

  @Test func `Every refusal says what was reached, and its name is a metric's`() {
    for limit in Limit.refusing {
      let refusal = LimitRefusal(limit: limit, figure: 7, wait: .seconds(5))
      #expect(refusal.text.split(separator: " ").count > 4, "\(limit.label)")
      #expect(APIError(refusal).retryAfter == 5)
      #expect(limit.label.allSatisfy { $0.isLowercase || $0 == "_" })
    }
  }

  @Test func `No two rows of the table have the same key or label, and no name of a counter has a colon`() {
    #expect(Set(Limit.all.map(\.key)).count == Limit.all.count)
    #expect(Set(Limit.refusing.map(\.label)).count == Limit.refusing.count)
    #expect(Limit.counters.allSatisfy { !$0.isEmpty && !$0.contains(":") })
  }
}
