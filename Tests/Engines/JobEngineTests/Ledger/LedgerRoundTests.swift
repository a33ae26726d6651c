import CountersignTelemetry
import PostgreSQL
import TestSupport
import Testing

@testable import JobEngine

/// Rounds of entries on a real server whose connection is lost at each of their steps.
@Suite struct LedgerRoundTests {
  private let lease = Duration.seconds(20)

  private func claim(_ id: String, token: Int64, redeliveries: Int = 0) -> LedgerClaim {
    LedgerClaim(
      messageID: id, token: token, lane: "a", times: .init(now: start, leaseUntil: start + lease),
      redeliveries: redeliveries)
  }

  /// A loss of the connection in a run, before or after its commit.
  struct Loss: Sendable, CustomTestStringConvertible {
    let run: Int
    let isCommitted: Bool
    var testDescription: String { "run \(run), \(isCommitted ? "committed" : "undone")" }
  }

  private static let losses = (1...3).flatMap { run in [true, false].map { Loss(run: run, isCommitted: $0) } }

  private func carryOut(
    _ entries: [LedgerEntry], _ connection: PostgreSQLConnection, now: UnixTime, _ loss: Loss
  ) async throws -> ([LedgerAnswer?], Int) {
    try await connection.withSession { session throws(PostgreSQLError) in
      var round = LedgerRound.rounds(of: entries)[0]
      var (runs, losses) = (0, 0)
      let run = { (statements: [PostgreSQLStatement]) throws(PostgreSQLError) -> [PostgreSQLRows] in
        runs += 1
        guard runs == loss.run else { return try session.run(statements) }
        losses += 1
        if loss.isCommitted { try session.run(statements) }
        throw PostgreSQLError(.connectionLost, "cut by the test")
      }
      while !round.isDone {
        do throws(PostgreSQLError) {
          try round.write(ServerClock.sql, run: run)
          if !round.isDone { try round.resolve(ServerClock.sql, run: run, judge: { $0 }) }
        } catch  where error.code == .connectionLost {
          continue
        }
      }
      return (entries.indices.map { try? round.answers[$0]?.get() }, losses)
    }
  }

  @Test(arguments: losses)
  func `A batch whose connection is lost is answered as if it had not been`(_ loss: Loss) async throws {
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
      let (answers, losses) = try await carryOut(entries, connection, now: start + lease, loss)
      #expect(losses == 1)
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
    try await connection.withSession { session throws(PostgreSQLError) in
      try session.run("SELECT unknown_calls FROM ledger_job WHERE key = $1", [.bytes(Array(id.utf8))])[0].int(0)
    }
  }

  /// Change of another host between the look at a job whose claim has run out and its take-over.
  enum Meanwhile: CaseIterable, Sendable {
    case takenOver, settled, released
  }

  @Test(arguments: Meanwhile.allCases)
  func `A job that another host changes after the look is not taken from it`(_ meanwhile: Meanwhile) async throws {
    try await withSharedDatabase { database in
      let clock = try await ServerClock(database)
      let ledger = try ClockedLedger(database, clock)
      _ = try await ledger.claim(claim("job", token: 1))
      try await clock.set(start + lease)
      let change: LedgerEntry =
        switch meanwhile {
        case .takenOver: .claim(claim("job", token: 2))
        case .settled: .settle(claim("job", token: 1), result: [1], at: start)
        case .released: .release(claim("job", token: 1))
        }
      let mine = claim("job", token: 3)
      let connection = try PostgreSQLConnection(database, options: .patient)
      let answer = try await connection.withSession { session throws(PostgreSQLError) in
        var runs = 0
        return try single(.claim(mine)) { statements throws(PostgreSQLError) in
          runs += 1
          if runs == 3 { _ = try single(change) { other throws(PostgreSQLError) in try session.run(other) } }
          return try session.run(statements)
        }
      }
      switch meanwhile {
      case .takenOver: #expect(answer == .claim(.held(until: start + lease)))
      case .settled: #expect(answer == .claim(.settled(result: [1])))
      case .released: #expect(answer == .claim(.claimed(unknownCalls: 0)))
      }
      await connection.close()
      await ledger.close()
      await clock.close()
    }
  }

  private func single(
    _ entry: LedgerEntry, run: ([PostgreSQLStatement]) throws(PostgreSQLError) -> [PostgreSQLRows]
  ) throws(PostgreSQLError) -> LedgerAnswer? {
    var round = LedgerRound.rounds(of: [entry])[0]
    while !round.isDone {
      try round.write(ServerClock.sql, run: run)
      if !round.isDone { try round.resolve(ServerClock.sql, run: run, judge: { $0 }) }
    }
    return try? round.answers[0]?.get()
  }

  @Test func `Entries of one job go to consecutive rounds, and the others share the first`() {
    let rounds = LedgerRound.rounds(of: [
      .claim(claim("a", token: 1)), .claim(claim("b", token: 2)), .release(claim("a", token: 1)),
      .claim(claim("c", token: 3)), .claim(claim("a", token: 4)),
    ])
    #expect(rounds.count == 3)
    #expect(LedgerRound.rounds(of: []).isEmpty)
  }
}
