import CountersignTelemetry
import PostgreSQL
import TestSupport

@testable import JobEngine

func withSharedDatabase<Result>(_ body: (PostgreSQLEndpoint) async throws -> Result) async throws -> Result {
  try await PrivatePostgreSQL.admit {
    try await body(try await PrivatePostgreSQL.shared.database(with: [LedgerSchemaPostgreSQL.part]))
  }
}

/// A clock of the server that stands where a test has set it.
actor ServerClock {
  static let sql = LedgerSQL(clock: "(SELECT milliseconds FROM test_clock)")

  /// Moves on as the server's clock does, unless that makes a step.
  nonisolated let monotonic = ManualMonotonicClock()
  private let connection: PostgreSQLConnection
  private var time = start
  private var setting: Task<Void, any Error>?

  init(_ database: PostgreSQLEndpoint) async throws {
    connection = try PostgreSQLConnection(database, options: .patient)
    let first = start.milliseconds
    try await connection.withSession { session throws(StoreError) -> Void in
      try session.script(
        "CREATE TABLE test_clock (milliseconds bigint NOT NULL); INSERT INTO test_clock VALUES (\(first))")
    }
  }

  /// Lets time pass, or goes back. Suspends until the server's clock shows it, also when another call sets it.
  func set(_ now: UnixTime) async throws {
    if now > time { monotonic.advance(by: now - time) }
    try await step(to: now)
  }

  /// Sets the clock while no time passes.
  func step(to now: UnixTime) async throws {
    if now != time {
      time = now
      let connection = connection
      setting = Task {
        try await connection.withSession { session throws(StoreError) -> Void in
          try session.run("UPDATE test_clock SET milliseconds = $1", [.integer(now.milliseconds)])
        }
      }
    }
    try await setting?.value
  }

  func close() async { await connection.close() }
}

/// A ledger whose server has the claimants' clock, as the conformance suite expects of one.
struct ClockedLedger: Ledger {
  let ledger: PostgreSQLLedger
  private let clock: ServerClock

  init(_ database: PostgreSQLEndpoint, _ clock: ServerClock, longestLease: Duration = .seconds(20)) throws {
    ledger = try PostgreSQLLedger(
      database, options: .patient, longestLease: longestLease, longestWrite: .patience, sql: ServerClock.sql,
      clock: clock.monotonic)
    self.clock = clock
  }

  var remembers: Bool { ledger.remembers }

  func write(_ entries: [LedgerEntry]) async -> [Result<LedgerAnswer, StoreError>] {
    let times = entries.compactMap { entry -> UnixTime? in
      switch entry {
      case .claim(let claim): claim.times.judgedAt
      case .settle(_, _, let time): time
      case .release, .postpone, .forget: nil
      }
    }
    do {
      if let now = times.max() { try await clock.set(now) }
    } catch {
      return entries.map { _ in .failure(StoreError(.misuse, "\(error)")) }
    }
    return await ledger.write(entries)
  }

  func job(matching match: LedgerMatch) async throws(StoreError) -> LedgerMatchedJob? {
    try await ledger.job(matching: match)
  }

  func purge(at time: UnixTime, from first: Int64, limit: Int) async throws(StoreError) -> LedgerPurgeStep {
    do { try await clock.set(time) } catch { throw StoreError(.misuse, "\(error)") }
    return try await ledger.purge(at: time, from: first, limit: limit)
  }

  func forgetOldest(limit: Int) async throws(StoreError) -> Int { try await ledger.forgetOldest(limit: limit) }

  func size() async throws(StoreError) -> LedgerSize? { try await ledger.size() }

  func close() async { await ledger.close() }
}
