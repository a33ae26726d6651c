import CountersignTelemetry
import Dispatch
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@testable import JobEngine

/// The ledger that hosts share, on a real server.
@Suite struct PostgreSQLLedgerTests {
  private let lease = Duration.seconds(20)

  /// Two ledgers with the server's own clock.
  private func withHosts(_ body: (PostgreSQLLedger, PostgreSQLLedger, PostgreSQLEndpoint) async throws -> Void)
    async throws
  {
    try await withSharedDatabase { database in
      let hosts = try (0..<2).map { _ in
        try PostgreSQLLedger(database, options: .patient, longestLease: lease, longestWrite: .patience)
      }
      let result: Result<Void, any Error>
      do { result = .success(try await body(hosts[0], hosts[1], database)) } catch { result = .failure(error) }
      for host in hosts { await host.close() }
      try result.get()
    }
  }

  private func withOwner<Answer: Sendable>(
    _ database: PostgreSQLEndpoint,
    _ body: @escaping @Sendable (PostgreSQLSession) throws(StoreError) -> Answer
  ) async throws -> Answer {
    let connection = try PostgreSQLConnection(database, options: .patient)
    let answer = try await connection.withSession(body)
    await connection.close()
    return answer
  }

  // MARK: Round trips

  @Test func `A batch costs one round trip, whatever the ledger knows of its jobs`() async throws {
    try await withSharedDatabase { database in
      let clock = try await ServerClock(database)
      let ledger = try ClockedLedger(database, clock)
      func trips(_ entries: [LedgerEntry]) async -> Int {
        let before = ledger.ledger.statuses[0].roundTrips
        for answer in await ledger.write(entries) { #expect(throws: Never.self) { try answer.get() } }
        return ledger.ledger.statuses[0].roundTrips - before
      }
      func claims(_ name: String, _ first: Int64, at now: UnixTime = start) -> [LedgerClaim] {
        (0..<64).map { claim("\(name)-\($0)", token: first + Int64($0), at: now) }
      }
      // The first batch connects.
      _ = await trips([.claim(claim("first", token: 1))])
      #expect(await trips(claims("job", 100).map { .claim($0) }) == 1)
      #expect(await trips(claims("job", 200).map { .claim($0) }) == 1, "held")
      #expect(await trips(claims("job", 300, at: start + lease).map { .claim($0) }) == 1, "taken over")
      #expect(await trips(claims("job", 300).map { .settle($0, result: [1], at: start) }) == 1)
      #expect(await trips(claims("job", 400).map { .claim($0) }) == 1, "settled")
      #expect(await trips(claims("job", 300).map { .settle($0, result: [1], at: start) }) == 1, "settled again")
      let other = claims("other", 500)
      let mixed =
        other[0..<16].map(LedgerEntry.claim) + other[16..<32].map(LedgerEntry.release)
        + other[32..<48].map(LedgerEntry.postpone) + other[48..<64].map { .settle($0, result: [2], at: start) }
      #expect(await trips(mixed) == 1)
      let twice = [LedgerEntry.claim(claim("twice", token: 900)), .release(claim("twice", token: 900))]
      #expect(await trips(twice) == 1, "two entries of one job")
      #expect(await trips([]) == 0)
      await ledger.close()
      await clock.close()
    }
  }

  @Test(arguments: [-600, 600])
  func `A host whose clock is wrong neither takes a job over nor shortens its claim`(seconds: Int64) async throws {
    try await withHosts { here, there, database in
      let now = SystemClock().now()
      let wrong = now + .seconds(seconds)
      #expect(try await here.claim(claim(token: 1, at: now)) == .claimed(unknownCalls: 0))
      let lease = "SELECT lease_until FROM ledger_job"
      let before = try await withOwner(database) { session throws(StoreError) in try session.run(lease)[0].int(0) }
      guard case .held(let until) = try await there.claim(claim(token: 2, at: wrong)) else {
        Issue.record("the job was given away")
        return
      }
      // However slow the machine is: nowhere near the difference of the clocks.
      #expect(abs((until - wrong).wholeMilliseconds - 20_000) < 300_000, "told by its own clock")
      let after = try await withOwner(database) { session throws(StoreError) in try session.run(lease)[0].int(0) }
      #expect(before == after)
      // The other way round: a claim of the host with the wrong clock holds as long as any.
      #expect(try await there.claim(claim("job-2", token: 3, at: wrong)) == .claimed(unknownCalls: 0))
      guard case .held = try await here.claim(claim("job-2", token: 4, at: now)) else {
        Issue.record("the job was given away")
        return
      }
      #expect(try await there.settle(claim("job-2", token: 3, at: wrong), result: [1], at: wrong) == nil)
      #expect(try await here.claim(claim("job-2", token: 5, at: now)) == .settled(result: [1]))
      #expect(try await here.purge(at: wrong + .seconds(1_000_000), from: 0, limit: 10).forgotten == 0)
    }
  }

  @Test func `A step of the server's clock ends no lease`() async throws {
    try await withSharedDatabase { database in
      let clock = try await ServerClock(database)
      let (ledger, other) = (try ClockedLedger(database, clock).ledger, try ClockedLedger(database, clock).ledger)
      _ = try await ledger.claim(claim(token: 1))
      _ = try await other.claim(claim("seen", token: 2))
      // A standby has taken over whose clock is ten minutes ahead.
      try await clock.step(to: start + .seconds(600))
      guard case .held = try await other.claim(claim(token: 3)) else {
        Issue.record("the job was given away")
        return
      }
      try await clock.set(start + .seconds(600) + lease)
      #expect(try await other.claim(claim(token: 4)) == .abandoned(lane: "a", unknownCalls: 1))
      await ledger.close()
      await other.close()
      await clock.close()
    }
  }

  @Test func `A batch whose connection is ended is carried out on the next one`()
    async throws
  {
    try await withHosts { here, there, database in
      _ = try await here.claim(claim("before", token: 1))
      // Ends the first connections that insert a job, in the middle of the statement.
      try await withOwner(database) { session throws(StoreError) -> Void in
        try session.script(
          """
          CREATE SEQUENCE kills;
          CREATE FUNCTION kill() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
              IF nextval('kills') <= 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
              RETURN NEW;
            END $$;
          CREATE TRIGGER kill BEFORE INSERT ON ledger_job FOR EACH ROW EXECUTE FUNCTION kill();
          """)
      }
      let answers = await here.write([.claim(claim("one", token: 2)), .claim(claim("two", token: 3))])
      for answer in answers { #expect(try answer.get() == .claim(.claimed(unknownCalls: 0))) }
      #expect(here.statuses[0].generation == 2)
      for id in ["before", "one", "two"] {
        guard case .held = try await there.claim(claim(id, token: 9)) else {
          Issue.record("\(id) was given away")
          return
        }
      }
    }
  }

  @Test func `A batch that others keep out fails in time, and changes nothing`()
    async throws
  {
    try await withSharedDatabase { database in
      let limit = Duration.seconds(1)
      let here = try PostgreSQLLedger(
        database, options: .patient, longestLease: lease, longestWrite: limit)
      let blocker = try PostgreSQLConnection(database, options: .patient)
      let began = ContinuousClock.now
      let answers = try await blocker.withTransaction { session throws(StoreError) in
        try session.run("LOCK TABLE ledger_job IN ACCESS EXCLUSIVE MODE")
        let answers = blocking { await here.write([.claim(claim("one", token: 2))]) }
        blocking { await here.close() }
        // A busy server may read a statement after its client has gone, and would carry it out when the table is free.
        let isAlone = """
          SELECT count(*) = 1, pg_stat_clear_snapshot() FROM pg_stat_activity WHERE datname = current_database()
          """
        while try !session.run(isAlone)[0].bool(0) {}
        return answers
      }
      #expect(ContinuousClock.now - began < limit + .seconds(60), "and not as long as the others hold the table")
      #expect(throws: StoreError.self) { try answers[0].get() }
      if case .failure(let error) = answers[0] { #expect(error.isRetriable) }
      await blocker.close()
      let later = try PostgreSQLLedger(
        database, options: .patient, longestLease: lease, longestWrite: .patience)
      #expect(try await later.claim(claim("one", token: 3)) == .claimed(unknownCalls: 0))
      await later.close()
    }
  }

  private func next(_ token: Int64, after failed: [Int64]) -> LedgerClaim {
    var claim = claim("lost", token: token)
    claim.failedTokens = failed
    return claim
  }

  @Test func `A claim that failed and was committed all the same is no call that may have begun`() async throws {
    try await withHosts { here, there, _ in
      // The answer was lost, so the job went through a delay queue.
      _ = try await here.claim(claim("lost", token: 1))
      guard case .held = try await there.claim(claim("lost", token: 2)) else {
        Issue.record("the job was given away")
        return
      }
      #expect(try await there.claim(next(3, after: [9, 1])) == .claimed(unknownCalls: 0))
      guard case .held = try await here.claim(next(4, after: [1])) else {
        Issue.record("a second copy of the job got it as well")
        return
      }
    }
  }

  @Test func `A claim that failed and took a job over leaves the call before it to be looked up`() async throws {
    try await withHosts { here, there, database in
      _ = try await here.claim(claim("lost", token: 1))
      try await withOwner(database) { session throws(StoreError) -> Void in
        try session.run("UPDATE ledger_job SET lease_until = 0")
      }
      let abandoned = ClaimAnswer.abandoned(lane: "a", unknownCalls: 1)
      #expect(try await here.claim(claim("lost", token: 2)) == abandoned)
      #expect(try await there.claim(next(3, after: [2])) == abandoned)
      #expect(try await there.claim(next(3, after: [2])) == abandoned, "to repeat it is safe")
    }
  }

  @Test func `A claim that failed and counts as begun keeps its count`() async throws {
    try await withHosts { here, there, _ in
      let abandoned = ClaimAnswer.abandoned(lane: nil, unknownCalls: 1)
      let first = try await here.claim(claim("lost", token: 1, redeliveries: 1))
      #expect(first == abandoned)
      let second = try await there.claim(next(2, after: [1]))
      #expect(second == abandoned)
    }
  }

  @Test func `A database that is away is named, and comes back`() async throws {
    try await PrivatePostgreSQL.run { server in
      let database = try await server.database()
      let owner = try PostgreSQLConnection(database, options: .patient)
      try await owner.withTransaction { session throws(StoreError) -> Void in
        try session.script("CREATE SCHEMA \(PostgreSQLSchema.name)")
        _ = try PostgreSQLSchema.update([LedgerSchemaPostgreSQL.part], session)
      }
      await owner.close()
      func ledger(_ longestWrite: Duration) throws -> PostgreSQLLedger {
        try PostgreSQLLedger(
          database, options: .patient, longestLease: lease, longestWrite: longestWrite)
      }
      let (ledger, hasty) = (try ledger(.patience), try ledger(.milliseconds(100)))
      #expect(try await ledger.claim(claim(token: 1)) == .claimed(unknownCalls: 0))
      try await server.stop()
      let answers = await hasty.write([.claim(claim("two", token: 2))])
      guard case .failure(let error) = answers[0] else {
        Issue.record("claimed without a server")
        return
      }
      #expect(error.isRetriable)
      await #expect(throws: StoreError.self) { try await hasty.size() }
      await hasty.close()
      try await server.start()
      #expect(try await ledger.settle(claim(token: 1), result: [1], at: start) == nil)
      #expect(try await ledger.claim(claim(token: 3)) == .settled(result: [1]), "it outlived the crash of the server")
      await ledger.close()
    }
  }

  @Test func `A database without the tables is refused with the command that makes them`() async throws {
    let database = try await PrivatePostgreSQL.shared.database()
    do {
      _ = try await PostgreSQLLedger.open(database, options: .patient, longestLease: lease)
      Issue.record("opened a database without tables")
    } catch {
      #expect(error.description.contains("countersign store create"))
    }
  }

  // MARK: Hostile values

  @Test func `An entry that the table does not take fails alone`()
    async throws
  {
    try await withHosts { here, there, _ in
      let long = String(repeating: "x", count: 3000)
      var match = claim("match", token: 5)
      match.match = LedgerMatch(lane: "a", reference: long, correlationID: long)
      let answers = await here.write([
        .claim(claim(long, token: 1)), .claim(claim("nul\0", token: 2)),
        .settle(claim("large", token: 3), result: Array(repeating: 1, count: 600_000), at: start),
        .claim(claim("counted", token: 4, redeliveries: .max)), .settle(match, result: [1], at: start),
      ])
      #expect(throws: StoreError.self) { try answers[0].get() }
      #expect(try answers[1].get() == .claim(.claimed(unknownCalls: 0)))
      #expect(throws: StoreError.self) { try answers[2].get() }
      #expect(try answers[3].get() == .claim(.abandoned(lane: nil, unknownCalls: LedgerColumns.maxCalls)))
      #expect(try answers[4].get() == .settled(standing: nil))
      guard case .held = try await there.claim(claim("nul\0", token: 9)) else {
        Issue.record("the job was given away")
        return
      }
    }
  }

  @Test func `A row that cannot be read fails its own entry only`()
    async throws
  {
    try await withHosts { here, _, database in
      _ = try await here.claim(claim("damaged", token: 1))
      try await withOwner(database) { session throws(StoreError) -> Void in
        try session.run("UPDATE ledger_job SET state = 7")
      }
      let answers = await here.write([.claim(claim("one", token: 2)), .claim(claim("damaged", token: 3))])
      #expect(try answers[0].get() == .claim(.claimed(unknownCalls: 0)))
      #expect(throws: StoreError.self) { try answers[1].get() }
    }
  }

  private func fill(_ database: PostgreSQLEndpoint, _ count: Int, state: Int = 2, keepUntil: Int = 1) async throws {
    try await withOwner(database) { session throws(StoreError) -> Void in
      try session.run(
        """
        INSERT INTO ledger_job (key, state, token, lane, lease_until, unknown_calls, written_at, keep_until, result)
        SELECT convert_to('job-' || $3::bigint || '-' || n, 'UTF8'), $3::bigint, 0, '', 0, 0, 5, $2::bigint + n,
          decode(repeat('ab', 300), 'hex')
        FROM generate_series(1, $1::bigint) AS n
        """, [.integer(Int64(count)), .integer(Int64(keepUntil)), .integer(Int64(state))])
      try session.run("SELECT pg_stat_force_next_flush()")
    }
  }

  @Test func `Two hosts forget 100,000 jobs together, each row once`() async throws {
    try await withHosts { here, there, database in
      try await fill(database, 100_000)
      _ = try await here.claim(claim("young", token: 1))
      func purge(_ ledger: PostgreSQLLedger) async throws -> Int {
        var (forgotten, first) = (0, Int64(0))
        for _ in 0..<LedgerPurge.maxBatches {
          let step = try await ledger.purge(at: start, from: first, limit: LedgerPurge.batch)
          #expect(step.forgotten <= LedgerPurge.batch)
          forgotten += step.forgotten
          guard let next = step.next else { break }
          first = next
        }
        return forgotten
      }
      async let mine = purge(here)
      async let theirs = purge(there)
      #expect(try await mine + theirs + purge(here) == 100_000)
      let left = try await withOwner(database) { session throws(StoreError) in
        try session.run("SELECT count(*) FROM ledger_job")[0].int(0)
      }
      #expect(left == 1)
    }
  }

  @Test func `Its size counts rows, and ended jobs go before their time`() async throws {
    try await withHosts { here, _, database in
      #expect(try await here.size()?.usedBytes == 0)
      try await fill(database, 5000, keepUntil: 1 << 50)
      try await fill(database, 10, state: 1, keepUntil: 1)
      let other = try PostgreSQLLedger(
        database, options: .patient, longestLease: lease, longestWrite: .patience)
      let full = try #require(try await other.size())
      #expect(full.usedBytes > 5000 * 400 && full.usedBytes <= full.fileBytes)
      #expect(full.oldest == UnixTime(milliseconds: 5))
      #expect(try await other.forgetOldest(limit: 4000) == 4000)
      let emptied = try #require(try await other.size())
      #expect(emptied.usedBytes < full.usedBytes / 4)
      #expect(emptied.fileBytes == full.fileBytes)
      #expect(try await other.forgetOldest(limit: 4000) == 1000, "what was only begun stays")
      await other.close()
    }
  }
}

/// Waits on the connection's own thread.
private func blocking<Answer: Sendable>(_ body: @escaping @Sendable () async -> Answer) -> Answer {
  let box = Box<Answer>()
  Task { box.put(await body()) }
  return box.take()
}

private final class Box<Value: Sendable>: Sendable {
  private let value = Mutex<Value?>(nil)
  private let isFull = DispatchSemaphore(value: 0)

  func put(_ value: Value) {
    self.value.withLock { $0 = value }
    isFull.signal()
  }

  func take() -> Value {
    isFull.wait()
    return value.withLock { $0! }
  }
}
