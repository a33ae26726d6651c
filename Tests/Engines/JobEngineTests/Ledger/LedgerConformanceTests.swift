import CountersignMessages
import CountersignTelemetry
import Testing

@testable import JobEngine

/// Promises of every ledger, run on each. Promises of a ledger with a memory, run on those that have one.
@Suite struct LedgerConformanceTests {
  private static let remembering: [LedgerKind] = [.sqlite, .postgresql, .memory]
  private static let stored: [LedgerKind] = [.sqlite, .postgresql]
  private let lease = Duration.seconds(20)

  @Test(arguments: LedgerKind.allCases) func `A new job is claimed`(_ kind: LedgerKind) async throws {
    try await kind.withTwo { (ledger, _) async throws in
      #expect(try await ledger.claim(claim()) == .claimed(unknownCalls: 0))
      #expect(try await ledger.claim(claim("job-2", token: 2)) == .claimed(unknownCalls: 0))
    }
  }

  @Test(arguments: LedgerKind.allCases) func `A released job is claimed anew`(
    _ kind: LedgerKind
  ) async throws {
    try await kind.withTwo { (ledger, other) async throws in
      _ = try await ledger.claim(claim())
      try await ledger.release(claim())
      #expect(try await other.claim(claim(token: 2)) == .claimed(unknownCalls: 0))
    }
  }

  @Test(arguments: LedgerKind.allCases) func `The first result is recorded`(
    _ kind: LedgerKind
  ) async throws {
    try await kind.withTwo { (ledger, _) async throws in
      _ = try await ledger.claim(claim())
      #expect(try await ledger.settle(claim(), result: [1], at: start) == nil)
      #expect(try await ledger.settle(claim(), result: [1], at: start) == nil, "to repeat it is safe")
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func `A job that may have begun elsewhere counts as begun`(_ kind: LedgerKind) async throws {
    try await kind.withTwo { (ledger, other) async throws in
      #expect(try await ledger.claim(claim(redeliveries: 2)) == .abandoned(lane: nil, unknownCalls: 2))
      try await ledger.release(claim())
      guard ledger.remembers else { return }
      #expect(try await other.claim(claim(token: 2)) == .claimed(unknownCalls: 2), "a release does not forget it")
      _ = try await ledger.claim(claim("known", token: 3))
      #expect(try await other.claim(claim("known", token: 4, redeliveries: 1)) == .held(until: start + lease))
    }
  }

  @Test(arguments: remembering) func `A settled job answers with its result`(
    _ kind: LedgerKind
  ) async throws {
    try await kind.withTwo { (ledger, other) async throws in
      _ = try await ledger.claim(claim())
      _ = try await ledger.settle(claim(), result: [1, 2, 3], at: start)
      #expect(try await other.claim(claim(token: 2, at: start + .seconds(3600))) == .settled(result: [1, 2, 3]))
    }
  }

  @Test(arguments: remembering) func `A claim holds while its lease runs`(
    _ kind: LedgerKind
  ) async throws {
    try await kind.withTwo { (ledger, other) async throws in
      _ = try await ledger.claim(claim())
      let early = start + lease - .milliseconds(1)
      #expect(try await other.claim(claim(token: 2, at: early)) == .held(until: start + lease))
      #expect(try await ledger.claim(claim(token: 1, at: early)) == .claimed(unknownCalls: 0), "its own claim again")
    }
  }

  @Test(arguments: remembering) func `A claim that ran out is taken over once`(
    _ kind: LedgerKind
  ) async throws {
    try await kind.withTwo { (ledger, other) async throws in
      _ = try await ledger.claim(claim(lane: "twilio"))
      let late = start + lease
      #expect(try await other.claim(claim(token: 2, at: late)) == .abandoned(lane: "twilio", unknownCalls: 1))
      #expect(try await ledger.claim(claim(token: 3, at: late)) == .held(until: late + lease))
      let later = late + lease
      #expect(try await ledger.claim(claim(token: 4, at: later)) == .abandoned(lane: "a", unknownCalls: 2))
    }
  }

  @Test(arguments: remembering) func `A step forth does not end a lease`(_ kind: LedgerKind)
    async throws
  {
    try await kind.withTwo { (ledger, other) async throws in
      _ = try await ledger.claim(claim())
      var copy = claim(token: 2, at: start + .seconds(3600))
      copy.times.judgedAt = start + .seconds(1)
      #expect(try await other.claim(copy) == .held(until: start + lease))
    }
  }

  @Test(arguments: remembering)
  func `After a step back a lease runs for its length at most`(_ kind: LedgerKind) async throws {
    try await kind.withTwo { (ledger, other) async throws in
      _ = try await ledger.claim(claim())
      let back = start - .seconds(3600)
      #expect(try await other.claim(claim(token: 2, at: back)) == .held(until: back + lease))
      let later = back + lease
      #expect(try await other.claim(claim(token: 3, at: later)) == .abandoned(lane: "a", unknownCalls: 1))
    }
  }

  @Test(arguments: remembering) func `Of many claimants one gets the job`(
    _ kind: LedgerKind
  ) async throws {
    try await kind.withTwo { (ledger, other) async throws in
      _ = try await ledger.claim(claim(token: 1))
      for (round, now) in [start + lease, start + lease * 2].enumerated() {
        let answers = try await withThrowingTaskGroup(of: ClaimAnswer.self) { group in
          for number in 0..<40 {
            let mine = claim(token: Int64(100 * (round + 1) + number), at: now)
            group.addTask { try await (number.isMultiple(of: 2) ? ledger : other).claim(mine) }
          }
          return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.filter { $0 == .abandoned(lane: "a", unknownCalls: round + 1) }.count == 1)
        #expect(answers.filter { $0 == .held(until: now + lease) }.count == 39)
      }
    }
  }

  @Test(arguments: remembering) func `A postponed job keeps its count`(_ kind: LedgerKind)
    async throws
  {
    try await kind.withTwo { (ledger, other) async throws in
      _ = try await ledger.claim(claim())
      try await ledger.postpone(claim())
      #expect(try await other.claim(claim(token: 2)) == .claimed(unknownCalls: 1))
      try await other.release(claim(token: 2))
      #expect(try await ledger.claim(claim(token: 3)) == .claimed(unknownCalls: 1), "a release does not forget it")
    }
  }

  @Test(arguments: remembering) func `Only its own claim is given back`(_ kind: LedgerKind)
    async throws
  {
    try await kind.withTwo { (ledger, other) async throws in
      _ = try await ledger.claim(claim(token: 1))
      let late = start + lease
      _ = try await other.claim(claim(token: 2, at: late))
      try await ledger.release(claim(token: 1))
      try await ledger.postpone(claim(token: 1))
      #expect(try await ledger.claim(claim(token: 3, at: late)) == .held(until: late + lease))
    }
  }

  @Test(arguments: remembering) func `A failed claim gives way, unless calls came before it`(_ kind: LedgerKind)
    async throws
  {
    try await kind.withTwo { (ledger, other) async throws in
      for (id, token) in [("new", Int64(1)), ("forgotten", 2)] {
        _ = try await ledger.claim(claim(id, token: token))
      }
      _ = await other.write([.forget(claim("forgotten", token: 2))])
      #expect(try await other.claim(claim("forgotten", token: 3)) == .claimed(unknownCalls: 0))
      var next = claim("new", token: 4)
      next.failedTokens = [1]
      #expect(try await other.claim(next) == .claimed(unknownCalls: 0))
      _ = try await ledger.claim(claim("begun", token: 5, redeliveries: 1))
      _ = await other.write([.forget(claim("begun", token: 5))])
      #expect(try await other.claim(claim("begun", token: 6)) == .held(until: start + lease))
    }
  }

  @Test(arguments: remembering) func `The first result stands`(_ kind: LedgerKind) async throws {
    try await kind.withTwo { (ledger, other) async throws in
      _ = try await ledger.claim(claim(token: 1))
      let late = start + lease
      _ = try await other.claim(claim(token: 2, at: late))
      // The first owner was only slow: what it saw has happened.
      #expect(try await ledger.settle(claim(token: 1), result: [1], at: late) == nil)
      #expect(try await other.settle(claim(token: 2, at: late), result: [2], at: late) == [1])
      try await other.release(claim(token: 2))
      #expect(try await other.claim(claim(token: 4, at: late)) == .settled(result: [1]))
    }
  }

  @Test(arguments: remembering) func `A result without a claim is recorded`(
    _ kind: LedgerKind
  ) async throws {
    try await kind.withTwo { (ledger, _) async throws in
      #expect(try await ledger.settle(claim(), result: [5], at: start) == nil)
      #expect(try await ledger.claim(claim(token: 2)) == .settled(result: [5]))
    }
  }

  @Test(arguments: remembering) func `Old jobs are forgotten in bounded steps`(
    _ kind: LedgerKind
  ) async throws {
    try await kind.withTwo { (ledger, _) async throws in
      for number in 0..<10 {
        var claim = claim("job-\(number)", token: Int64(number))
        // One that has to stay for long stands before the others.
        claim.times.keepUntil = start + (number == 1 ? .seconds(600) : .seconds(number))
        _ = try await ledger.claim(claim)
        _ = try await ledger.settle(claim, result: [1], at: claim.times.now)
      }
      let now = start + .seconds(7)
      var (first, forgotten) = (Int64(0), [Int]())
      for _ in 0..<4 {
        let step = try await ledger.purge(at: now, from: first, limit: 3)
        forgotten.append(step.forgotten)
        guard let next = step.next else { break }
        first = next
      }
      #expect(forgotten.reduce(0, +) == 6, "jobs 0, 2; 3, 4, 5; 6")
      #expect(forgotten.allSatisfy { $0 <= 3 })
      for number in [1, 7, 8, 9] {
        #expect(try await ledger.claim(claim("job-\(number)", token: 99)) == .settled(result: [1]))
      }
      #expect(try await ledger.claim(claim("job-4", token: 99)) == .claimed(unknownCalls: 0))
    }
  }

  @Test(arguments: stored)
  func `A settled job is found by what its provider calls it, by every worker`(_ kind: LedgerKind) async throws {
    try await kind.withTwo { (ledger, other) async throws in
      func matched(_ id: String, _ match: LedgerMatch) -> LedgerClaim {
        var claim = claim(id)
        claim.match = match
        return claim
      }
      let match = LedgerMatch(lane: "a", reference: "m 1\0", correlationID: "c-1")
      _ = try await ledger.claim(claim("one"))
      #expect(try await other.job(matching: match) == nil, "it has not ended")
      _ = try await ledger.settle(matched("one", match), result: [1], at: start)
      let found = LedgerMatchedJob(job: MessageIdentity(key: "one"), correlationID: "c-1")
      #expect(try await other.job(matching: match) == found)
      #expect(try await other.job(matching: LedgerMatch(lane: "b", reference: "m 1\0")) == nil)
      // A provider may use an ID again one day.
      _ = try await other.settle(matched("two", match), result: [1], at: start + .seconds(5))
      #expect(try await ledger.job(matching: match)?.job.messageID == "two")
      let bare = LedgerMatch(lane: "a", reference: "m 2")
      _ = try await other.settle(matched("three", bare), result: [1], at: start + .seconds(5))
      let third = LedgerMatchedJob(job: MessageIdentity(key: "three"), correlationID: nil)
      #expect(try await ledger.job(matching: bare) == third)
      _ = try await ledger.purge(at: start + .seconds(49 * 3600), from: 0, limit: 10)
      #expect(try await ledger.job(matching: match) == nil)
    }
  }

  @Test(arguments: remembering)
  func `Entries of a batch see the changes of earlier ones`(_ kind: LedgerKind) async throws {
    try await kind.withTwo { (ledger, other) async throws in
      let answers = await ledger.write([
        .claim(claim()), .claim(claim(token: 2)), .settle(claim(), result: [1], at: start), .claim(claim(token: 3)),
        .settle(claim(token: 2), result: [2], at: start), .claim(claim("job-2", token: 4)),
        .release(claim("job-2", token: 4)), .claim(claim("job-2", token: 5)), .postpone(claim("job-2", token: 5)),
        .claim(claim("job-2", token: 6)),
      ])
      #expect(
        answers.map { try? $0.get() } == [
          .claim(.claimed(unknownCalls: 0)), .claim(.held(until: start + lease)), .settled(standing: nil),
          .claim(.settled(result: [1])), .settled(standing: [1]), .claim(.claimed(unknownCalls: 0)), .done,
          .claim(.claimed(unknownCalls: 0)), .done, .claim(.claimed(unknownCalls: 1)),
        ])
      #expect(try await other.claim(claim(token: 7)) == .settled(result: [1]))
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func `A batch of the largest size and an empty one are answered in full`(_ kind: LedgerKind) async throws {
    try await kind.withTwo { (ledger, other) async throws in
      #expect(await ledger.write([]).isEmpty)
      let claims = (0..<LedgerEntry.maxBatch).map { claim("job-\($0)", token: Int64($0 + 1)) }
      let answers = await ledger.write(claims.map { .claim($0) })
      #expect(answers.count == claims.count)
      for answer in answers { #expect(try answer.get() == .claim(.claimed(unknownCalls: 0))) }
      guard ledger.remembers else { return }
      #expect(try await other.claim(claim("job-9", token: 1000)) == .held(until: start + lease))
    }
  }

  @Test(arguments: remembering)
  func `Two batches for the same jobs at once give each job to one claimant`(_ kind: LedgerKind) async throws {
    try await kind.withTwo { (ledger, other) async throws in
      func claims(_ first: Int64) -> [LedgerEntry] {
        (0..<100).map { .claim(claim("job-\($0)", token: first + Int64($0))) }
      }
      async let mine = ledger.write(claims(1))
      async let theirs = other.write(claims(1001))
      for (one, another) in zip(await mine, await theirs) {
        let answers = [try one.get(), try another.get()]
        #expect(answers.contains(.claim(.claimed(unknownCalls: 0))))
        #expect(answers.contains(.claim(.held(until: start + lease))))
      }
    }
  }
}
