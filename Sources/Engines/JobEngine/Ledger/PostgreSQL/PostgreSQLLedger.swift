import CountersignMessages
public import CountersignTelemetry
import PostgreSQL
import Synchronization

/// The ledger in a PostgreSQL database that the workers of all hosts share.
///
/// Leases are durations of the claimant and times of the server, so a host with a wrong clock neither takes over
/// another's job nor loses its own. A step of the server's clock is ignored while an earlier lease may run: see
/// ``StepFilter``.
public final class PostgreSQLLedger: Ledger {
  /// Maximum duration of a batch, with all that it waits for. `JobRules.leaseMargin` counts with it.
  static let longestWrite: Duration = .milliseconds(3_750)
  /// Maximum duration of one run of statements, of a batch's: the rest is for another one on a new connection.
  static func longestRun(ofWrite longestWrite: Duration) -> Duration { longestWrite * 3 / 10 }
  static func connectTimeout(ofWrite longestWrite: Duration) -> Duration { longestWrite / 4 }
  static let pause: Duration = .milliseconds(100)

  /// For batches, which wait for nothing else.
  private let writing: PostgreSQLConnection
  private let other: PostgreSQLConnection
  private let sql: LedgerSQL
  private let clock: any MonotonicClock
  private let address: String
  private let longestWrite: Duration
  private let longestRun: Duration
  private let filter: Mutex<StepFilter>
  private let estimate = Mutex(LedgerEstimate())

  /// Connects when it is first used.
  init(
    _ endpoint: PostgreSQLEndpoint, options: PostgreSQLOptions, longestLease: Duration,
    longestWrite: Duration = PostgreSQLLedger.longestWrite,
    sql: LedgerSQL = LedgerSQL(), clock: any MonotonicClock = SystemMonotonicClock()
  ) throws(StoreError) {
    address = endpoint.description
    self.longestWrite = longestWrite
    longestRun = Self.longestRun(ofWrite: longestWrite)
    writing = try PostgreSQLConnection(
      endpoint, options: Self.narrowed(options, longestWrite: longestWrite), prepare: Self.prepare)
    other = try PostgreSQLConnection(endpoint, options: options, prepare: Self.prepare)
    self.sql = sql
    self.clock = clock
    filter = Mutex(StepFilter(longestLease: longestLease))
  }

  static func open(
    _ endpoint: PostgreSQLEndpoint, options: PostgreSQLOptions, longestLease: Duration,
    longestWrite: Duration = PostgreSQLLedger.longestWrite
  ) async throws(StoreError) -> PostgreSQLLedger {
    let ledger = try PostgreSQLLedger(
      endpoint, options: options, longestLease: longestLease, longestWrite: longestWrite)
    do throws(StoreError) {
      try await ledger.other.withSession { session throws(StoreError) in
        try PostgreSQLSchema.check([LedgerSchemaPostgreSQL.part], session)
      }
      return ledger
    } catch {
      await ledger.close()
      throw error
    }
  }

  public var remembers: Bool { true }

  public var remedy: String {
    "see to the server of ledger.url; jobs wait meanwhile, and are consumed again automatically"
  }

  /// Carries out a batch, again after a failure that may pass.
  public func write(_ entries: [LedgerEntry]) async -> [Result<LedgerAnswer, StoreError>] {
    if entries.isEmpty { return [] }
    let batch = LedgerBatch(entries)
    let deadline = ContinuousClock.now + longestWrite
    while true {
      do throws(StoreError) {
        return try await carryOut(batch, until: deadline)
      } catch {
        guard error.isWorthRepeating, deadline - .now > longestRun else { return batch.failed(error) }
      }
      do { try await Task.sleep(for: Self.pause) } catch { return batch.failed(StoreError.canceled) }
    }
  }

  private func carryOut(
    _ batch: LedgerBatch, until deadline: ContinuousClock.Instant
  ) async throws(StoreError) -> LedgerBatch.Answers {
    let late = StoreError(.connectionLost, "\(address) did not answer within \(longestWrite)")
    let answers: Result<LedgerBatch.Answers, StoreError> = await withTimeLimit(
      deadline, late: .failure(late)
    ) { [self] in
      do throws(StoreError) {
        return .success(
          try await writing.withSession { session throws(StoreError) -> LedgerBatch.Answers in
            try self.carryOut(batch, session, within: deadline - .now)
          })
      } catch {
        return .failure(error)
      }
    }
    return try answers.get()
  }

  private func carryOut(
    _ batch: LedgerBatch, _ session: PostgreSQLSession, within left: Duration
  ) throws(StoreError) -> LedgerBatch.Answers {
    guard left > .zero else { throw StoreError(.connectionLost, "the time of the batch is over") }
    let latest = filter.withLock { $0.latest(at: clock.now()) }
    let results = try session.run(batch.statements(sql, latest: latest), within: min(left, longestRun))
    let (answers, serverTime) = try batch.read(results, latest: latest)
    if let serverTime { filter.withLock { _ = $0.time(serverTime, at: clock.now()) } }
    return answers
  }

  public func job(matching match: LedgerMatch) async throws(StoreError) -> LedgerMatchedJob? {
    try await ask { session throws(StoreError) in
      let rows = try session.run(LedgerSQL.matched, [.bytes(Array(match.key.utf8))])
      guard let row = rows.first else { return nil }
      return LedgerMatchedJob(
        job: MessageIdentity(key: String(decoding: try row.bytes(0), as: UTF8.self)),
        correlationID: try row.optionalBytes(1).map { String(decoding: $0, as: UTF8.self) })
    }
  }

  /// Forgets by the server's clock, beginning with the job whose time ended first.
  public func purge(at time: UnixTime, from first: Int64, limit: Int) async throws(StoreError) -> LedgerPurgeStep {
    let statement = sql.purge
    return try await ask { session throws(StoreError) in
      let rows = try session.run(statement, [.integer(first), .integer(Int64(limit))])
      guard let row = rows.first else { return LedgerPurgeStep(forgotten: 0) }
      let count = try row.int(0)
      return LedgerPurgeStep(forgotten: count, next: count < limit ? nil : try row.optionalInt(1).map { Int64($0) })
    }
  }

  public func forgetOldest(limit: Int) async throws(StoreError) -> Int {
    let forgotten = try await ask { session throws(StoreError) in
      try session.run(LedgerSQL.forgetOldest, [.integer(Int64(limit))]).affected
    }
    estimate.withLock { $0.forget(forgotten) }
    return forgotten
  }

  public func size() async throws(StoreError) -> LedgerSize? {
    let now = clock.now()
    if let size = estimate.withLock({ $0.size(at: now) }) { return size }
    let read = try await ask { session throws(StoreError) in try LedgerEstimate(session, at: now) }
    estimate.withLock { $0 = read }
    return read.size(at: now)
  }

  public func close() async {
    await writing.close()
    await other.close()
  }

  var statuses: [PostgreSQLStatus] { [writing.status, other.status] }
}

// MARK: - Connections

extension PostgreSQLLedger {
  private func ask<Answer: Sendable>(
    _ body: @escaping @Sendable (PostgreSQLSession) throws(StoreError) -> Answer
  ) async throws(StoreError) -> Answer {
    return try await other.withSession(body)
  }

  /// Limits that let a batch end in time, and leave time for a second connection.
  private static func narrowed(_ options: PostgreSQLOptions, longestWrite: Duration) -> PostgreSQLOptions {
    let longestRun = Self.longestRun(ofWrite: longestWrite)
    var options = options
    options.connectTimeout = min(options.connectTimeout, connectTimeout(ofWrite: longestWrite))
    options.statementTimeout = min(options.statementTimeout, longestRun)
    options.lockTimeout = min(options.lockTimeout, longestRun, .seconds(1))
    options.answerGrace = min(options.answerGrace, .milliseconds(200))
    options.runTimeout = min(options.runTimeout, longestRun)
    options.tcpUserTimeout = min(options.tcpUserTimeout, longestRun)
    options.reconnectDelay = .milliseconds(50) ... .milliseconds(500)
    return options
  }

  /// Each statement finds its rows by an index. The planner would scan a table that it believes to be small, and keep
  /// that plan while the table grows.
  private static let prepare: @Sendable (PostgreSQLSession) throws(StoreError) -> Void = {
    session throws(StoreError) in
    let others = ["seqscan", "bitmapscan", "hashjoin", "mergejoin"]
    try session.script(others.map { "SET enable_\($0) = off" }.joined(separator: "; "))
  }
}

extension StoreError {
  /// Whether it is gone as soon as there is a new connection, or the others have made room.
  fileprivate var isWorthRepeating: Bool {
    switch code {
    case .unreachable, .connectionLost, .readOnly, .statementTimeout, .lockTimeout, .deadlock, .serialization,
      .shuttingDown:
      true
    default: false
    }
  }
}

extension StoreError {
  fileprivate static let canceled = StoreError(.unavailable, "the worker ended meanwhile")
}
