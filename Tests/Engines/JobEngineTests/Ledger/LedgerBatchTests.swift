import CountersignTelemetry
import PostgreSQL
import TestSupport
import Testing

@testable import JobEngine

/// Batches of entries on a real server whose connection is lost.
@Suite struct LedgerBatchTests {
  private let lease = Duration.seconds(20)

  private func carryOut(
    _ entries: [LedgerEntry], _ connection: PostgreSQLConnection, isCommitted: Bool
  ) async throws -> [LedgerAnswer?] {
    try await connection.withSession { session throws(StoreError) -> [LedgerAnswer?] in
      let batch = LedgerBatch(entries)
      let statements = batch.statements(ServerClock.sql, latest: nil)
      // The first answer is lost with the connection, or the first run with it.
      if isCommitted { try session.run(statements) }
      return try batch.read(session.run(statements), latest: nil).answers.map { try? $0.get() }
    }
  }

  @Test(arguments: [true, false])
  func `A batch whose connection is lost is answered as if it had not been`(isCommitted: Bool) async throws {
    try await withSharedDatabase { database in
      let clock = try await ServerClock(database)
      let ledger = try ClockedLedger(database, clock)
      for (number, id) in ["over", "held", "late", "idle", "ended"].enumerated() {
        _ = try await ledger.claim(claim(id, token: Int64(number)))
      }
      try await ledger.postpone(claim("idle", token: 3))
      _ = try await ledger.settle(claim("ended", token: 4), result: [7], at: start)
      // The claims to `over` and `late` have run out, and that to `held` has not.
      try await clock.set(start + lease)
      _ = try await ledger.ledger.claim(claim("held", token: 10))
      let entries: [LedgerEntry] = [
        .claim(claim("new", token: 11)), .claim(claim("elsewhere", token: 12, redeliveries: 2)),
        .claim(claim("over", token: 13)), .claim(claim("held", token: 14)), .claim(claim("idle", token: 15)),
        .claim(claim("ended", token: 16)), .settle(claim("late", token: 2), result: [1], at: start),
        .settle(claim("unclaimed", token: 17), result: [2], at: start),
      ]
      let connection = try PostgreSQLConnection(database, options: .patient)
      let answers = try await carryOut(entries, connection, isCommitted: isCommitted)
      #expect(
        answers == [
          .claim(.claimed(unknownCalls: 0)), .claim(.abandoned(lane: nil, unknownCalls: 2)),
          .claim(.abandoned(lane: "a", unknownCalls: 1)), .claim(.held(until: start + lease)),
          .claim(.claimed(unknownCalls: 1)), .claim(.settled(result: [7])), .settled(standing: nil),
          .settled(standing: nil),
        ])
      // What was answered is what others find.
      for (id, calls) in [("new", 0), ("elsewhere", 2), ("over", 1), ("idle", 1)] {
        let found = try await ledger.ledger.claim(claim(id, token: 99))
        #expect(found == .held(until: start + lease), "\(id)")
        #expect(try await count(of: id, connection) == calls, "\(id)")
      }
      await connection.close()
      await ledger.close()
      await clock.close()
    }
  }

  private func count(of id: String, _ connection: PostgreSQLConnection) async throws -> Int {
    try await connection.withSession { session throws(StoreError) in
      try session.run("SELECT unknown_calls FROM ledger_job WHERE key = $1", [.bytes(Array(id.utf8))])[0].int(0)
    }
  }

  @Test func `Entries of one job go to statements of their own, and the others share the first`() {
    let batch = LedgerBatch([
      .claim(claim("a", token: 1)), .claim(claim("b", token: 2)), .release(claim("a", token: 1)),
      .claim(claim("c", token: 3)), .claim(claim("a", token: 4)),
    ])
    let texts = batch.statements(ServerClock.sql, latest: nil).map(\.sql)
    #expect(
      texts == [LedgerSQL.lock, ServerClock.sql.claim, LedgerSQL.forget, LedgerSQL.makeIdle, ServerClock.sql.claim])
    #expect(LedgerBatch([]).statements(ServerClock.sql, latest: nil).isEmpty)
  }
}
