import CountersignTelemetry
import SQLite
import Testing

@testable import Coordination

@Suite("Deleting what is old")
struct PurgerTests {
  private func purger(_ bench: Bench) -> Purger {
    Purger(database: bench.database, inboxRetention: .seconds(3600), clock: bench.clock)
  }

  /// As the maintenance does once a second.
  private func round(_ step: () async throws -> Bool) async throws {
    for _ in 0..<Maintenance.maxRounds where try await !step() { return }
  }

  // MARK: Counts

  /// Adds counts of new subjects that live for a while from now.
  private func count(_ subjects: Int, living life: Duration, _ bench: Bench) async throws {
    let end = bench.clock.now() + life
    try await bench.database.write { session throws(DatabaseError) -> Void in
      try session.execute(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
        INSERT INTO usage (subject, counts, expires_at) SELECT 'n' || hex(randomblob(8)), 's:600000=1*1', ? FROM n
        """,
        [Value(subjects), .integer(end.milliseconds)])
    }
  }

  @Test("Counts are deleted as fast as they are made: 800 new subjects a second, each alive for two minutes")
  func countsAreDeletedAsFastAsTheyAreMade800NewSubjectsASecondEach() async throws {
    let (rate, life) = (800, 120)
    try await Bench.with { bench in
      let purger = purger(bench)
      var most = 0
      for second in 1...420 {
        try await count(rate, living: .seconds(life), bench)
        bench.clock.advance(by: .seconds(1))
        try await round(purger.purgeUsage)
        if second > 300, second % 20 == 0 { most = max(most, try await bench.count("usage")) }
      }
      // Those that live, and those that ended since the walk was there last.
      #expect(most <= rate * (life + UsageWalk.rounds))
      bench.clock.advance(by: .seconds(life))
      for _ in 0...UsageWalk.rounds { try await round(purger.purgeUsage) }
      #expect(try await bench.count("usage") == 0)
    }
  }

  @Test("A count that is used again while its page is looked at stays")
  func aCountThatIsUsedAgainWhileItsPageIsLookedAtStays() async throws {
    try await Bench.with { bench in
      try await count(10, living: .seconds(10), bench)
      try await count(5, living: .seconds(20), bench)
      bench.clock.advance(by: .seconds(10))
      #expect(try await !purger(bench).purgeUsage())
      #expect(try await bench.count("usage") == 5)
    }
  }

  @Test("A walk takes a minute, a table of ten million some more, and a small one a page a round")
  func aWalkTakesAMinuteATableOfTenMillionSomeMoreAndASmallOneAPage() {
    func rounds(pages: Int, _ walk: inout UsageWalk) -> Int {
      var (rounds, page) = (0, 0)
      while page < pages {
        rounds += 1
        repeat { page += 1 } while walk.finish(pageUpTo: page == pages ? nil : "n\(page)")
      }
      return rounds
    }
    var walk = UsageWalk()
    #expect(rounds(pages: 1, &walk) == 1)
    #expect(
      walk
        == {
          var new = UsageWalk()
          _ = new.finish(pageUpTo: nil)
          return new
        }())
    _ = rounds(pages: 300, &walk)
    #expect(rounds(pages: 300, &walk) == 60)
    _ = rounds(pages: 10_000_000 / UsageWalk.pageRows, &walk)
    #expect(rounds(pages: 10_000_000 / UsageWalk.pageRows, &walk) <= 611)
    #expect(rounds(pages: 1, &walk) == 1)
    #expect(rounds(pages: 20, &walk) == 20)
  }

  // MARK: Recorded replies

  /// Records replies to so many commands now.
  private func record(_ replies: Int, _ bench: Bench) async throws {
    let now = bench.clock.now()
    try await bench.database.write { session throws(DatabaseError) -> Void in
      try session.execute(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
        INSERT INTO inbox (key, fingerprint, received_at, reply_type, reply)
        SELECT hex(randomblob(16)), x'00', ?, 'error.v1', x'00' FROM n
        """,
        [Value(replies), .integer(now.milliseconds)])
    }
  }

  @Test("A clock that was a day ahead for a minute keeps no reply from being deleted, and deletes none too early")
  func aClockThatWasADayAheadForAMinuteKeepsNoReplyFromBeingDeleted() async throws {
    try await Bench.with { bench in
      let purger = purger(bench)
      try await record(100, bench)
      bench.clock.advance(by: .seconds(86_400))
      try await record(2_000, bench)
      bench.clock.advance(by: .seconds(60 - 86_400))
      try await record(600, bench)
      try await round(purger.purgeInbox)
      #expect(try await bench.count("inbox") == 2_700)
      bench.clock.advance(by: .seconds(3_541))
      try await round(purger.purgeInbox)
      #expect(try await bench.count("inbox") == 2_600, "what was recorded before the clock was wrong")
      bench.clock.advance(by: .seconds(59))
      for _ in 0..<3 { try await round(purger.purgeInbox) }
      #expect(try await bench.count("inbox") == 0)
      // The table was empty, so the numbers begin anew.
      try await record(600, bench)
      bench.clock.advance(by: .seconds(3600))
      for _ in 0..<3 { try await round(purger.purgeInbox) }
      #expect(try await bench.count("inbox") == 0)
    }
  }

  @Test("A clock that is set back makes replies live longer by as much, and no longer")
  func aClockThatIsSetBackMakesRepliesLiveLongerByAsMuchAndNoLonger() async throws {
    for step in [60, 3600] {
      try await Bench.with { bench in
        let purger = purger(bench)
        try await record(600, bench)
        bench.clock.advance(by: .seconds(-step))
        try await record(10, bench)
        bench.clock.advance(by: .seconds(3599))
        try await round(purger.purgeInbox)
        #expect(try await bench.count("inbox") == 610)
        bench.clock.advance(by: .seconds(step + 1))
        try await round(purger.purgeInbox)
        #expect(try await bench.count("inbox") == 0)
      }
    }
  }
}
