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
  static func longestRun(ofWrite longestWrite: Duration) -> Duration { longestWrite * 2 / 5 }
  /// Maximum time for connecting to one server.
  static let connectTimeout: Duration = .seconds(1)
  /// Pause before a batch that failed is repeated.
  static let pause: Duration = .milliseconds(100)
  /// Maximum number of times that a round is carried out because other hosts changed its jobs meanwhile.
  static let maxCollisions = 5
  /// Maximum number of claims that are kept to be released. Others end with their leases.
  static let maxDoubtful = LedgerEntry.maxBatch

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
  /// Claims that failed here, and may have been committed anyway: their calls must not begin.
  private let doubtful = Mutex<[DoubtfulClaim]>([])

  /// Connects when it is first used.
  init(
    _ endpoint: PostgreSQLEndpoint, options: PostgreSQLOptions, longestLease: Duration,
    longestWrite: Duration = PostgreSQLLedger.longestWrite,
    sql: LedgerSQL = LedgerSQL(), clock: any MonotonicClock = SystemMonotonicClock()
  ) throws(PostgreSQLError) {
    address = endpoint.description
    self.longestWrite = longestWrite
    longestRun = Self.longestRun(ofWrite: longestWrite)
    writing = try PostgreSQLConnection(
      endpoint, options: Self.narrowed(options, longestRun: longestRun), prepare: Self.prepare)
    other = try PostgreSQLConnection(endpoint, options: options, prepare: Self.prepare)
    self.sql = sql
    self.clock = clock
    filter = Mutex(StepFilter(longestLease: longestLease))
  }

  static func open(
    _ endpoint: PostgreSQLEndpoint, options: PostgreSQLOptions, longestLease: Duration
  ) async throws(PostgreSQLError) -> PostgreSQLLedger {
    let ledger = try PostgreSQLLedger(endpoint, options: options, longestLease: longestLease)
    do throws(PostgreSQLError) {
      try await ledger.other.withSession { session throws(PostgreSQLError) in
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

  public func write(_ entries: [LedgerEntry]) async -> [Result<LedgerAnswer, LedgerError>] {
    if entries.isEmpty { return [] }
    let answers = await writeForgetting(entries)
    let now = clock.now()
    doubt(
      zip(entries, answers).compactMap { entry, answer in
        guard case .claim(let claim) = entry, answer.isRetriableFailure else { return nil }
        return DoubtfulClaim(claim: claim, since: now)
      })
    return answers
  }

  /// Carries out a batch, and forgets the claims in doubt with it, or else their jobs would count as begun.
  private func writeForgetting(_ entries: [LedgerEntry]) async -> [Result<LedgerAnswer, LedgerError>] {
    let doubts = doubtful.withLock { claims in
      defer { claims = [] }
      return claims
    }
    let began = clock.now()
    let (answers, haveForgotten) = await carryOut(entries, forgetting: doubts.map(\.claim))
    // The server may commit such a claim a little later than it is forgotten.
    doubt(haveForgotten ? doubts.filter { began - $0.since <= longestRun } : doubts)
    return answers
  }

  private func doubt(_ claims: [DoubtfulClaim]) {
    if claims.isEmpty { return }
    doubtful.withLock { $0 = Array(($0 + claims).suffix(Self.maxDoubtful)) }
  }

  private func carryOut(
    _ entries: [LedgerEntry], forgetting claims: [LedgerClaim]
  ) async -> ([Result<LedgerAnswer, LedgerError>], haveForgotten: Bool) {
    let deadline = ContinuousClock.now + longestWrite
    var answers: [Int: Result<LedgerAnswer, LedgerError>] = [:]
    var (failure, haveForgotten) = (LedgerError?.none, true)
    for round in LedgerRound.rounds(of: entries, forgetting: claims) {
      var round = round
      if failure == nil { failure = await carryOut(&round, until: deadline) }
      if let failure { round.fail(failure) }
      haveForgotten = haveForgotten && round.hasForgotten
      answers.merge(round.answers) { first, _ in first }
    }
    return (
      entries.indices.map { answers[$0] ?? .failure(LedgerError("an entry has no answer", isRetriable: true)) },
      haveForgotten
    )
  }

  public func job(matching match: LedgerMatch) async throws(LedgerError) -> LedgerMatchedJob? {
    try await ask { session throws(PostgreSQLError) in
      let rows = try session.run(LedgerSQL.matched, [.bytes(Array(match.key.utf8))])
      guard let row = rows.first else { return nil }
      return LedgerMatchedJob(
        job: MessageIdentity(key: String(decoding: try row.bytes(0), as: UTF8.self)),
        correlationID: try row.optionalBytes(1).map { String(decoding: $0, as: UTF8.self) })
    }
  }

  /// Forgets by the server's clock, beginning with the job whose time ended first.
  public func purge(at time: UnixTime, from first: Int64, limit: Int) async throws(LedgerError) -> LedgerPurgeStep {
    let statement = sql.purge
    return try await ask { session throws(PostgreSQLError) in
      let rows = try session.run(statement, [.integer(first), .integer(Int64(limit))])
      guard let row = rows.first else { return LedgerPurgeStep(forgotten: 0) }
      let count = try row.int(0)
      return LedgerPurgeStep(forgotten: count, next: count < limit ? nil : try row.optionalInt(1).map { Int64($0) })
    }
  }

  public func forgetOldest(limit: Int) async throws(LedgerError) -> Int {
    let forgotten = try await ask { session throws(PostgreSQLError) in
      try session.run(LedgerSQL.forgetOldest, [.integer(Int64(limit))]).affected
    }
    estimate.withLock { $0.forget(forgotten) }
    return forgotten
  }

  public func size() async throws(LedgerError) -> LedgerSize? {
    let now = clock.now()
    if let size = estimate.withLock({ $0.size(at: now) }) { return size }
    let read = try await ask { session throws(PostgreSQLError) in try LedgerEstimate(session, at: now) }
    estimate.withLock { $0 = read }
    return read.size(at: now)
  }

  /// Forgets the claims in doubt once more. A database that is away is waited for as long as for a batch.
  public func close() async {
    if doubtful.withLock({ !$0.isEmpty }) { _ = await writeForgetting([]) }
    await writing.close()
    await other.close()
  }

  /// State and figures of both connections.
  var statuses: [PostgreSQLStatus] { [writing.status, other.status] }
}

// MARK: - Batches

extension PostgreSQLLedger {
  /// Carries out a round, again after a failure that may pass: each entry is safe to repeat, because a claim is known
  /// by its token.
  private func carryOut(_ round: inout LedgerRound, until deadline: ContinuousClock.Instant) async -> LedgerError? {
    while !round.isDone {
      let (next, error) = await attempt(round, until: deadline)
      round = next
      guard let error else { return nil }
      guard error.isWorthRepeating, deadline - .now > longestRun else { return LedgerError(error) }
      do { try await Task.sleep(for: Self.pause) } catch { return LedgerError.canceled }
    }
    return nil
  }

  private func attempt(
    _ round: LedgerRound, until deadline: ContinuousClock.Instant
  ) async -> (LedgerRound, PostgreSQLError?) {
    let late = PostgreSQLError(.connectionLost, "\(address) did not answer within \(longestWrite)")
    return await withTimeLimit(deadline, late: (round, late)) { [self] in
      var progress = (round, PostgreSQLError?.none)
      do throws(PostgreSQLError) {
        progress = try await writing.withSession { session throws(PostgreSQLError) in
          var round = round
          do throws(PostgreSQLError) {
            try self.carryOut(&round, session, until: deadline)
            return (round, nil)
          } catch {
            return (round, error)
          }
        }
      } catch {
        progress.1 = error
      }
      return progress
    }
  }

  private func carryOut(
    _ round: inout LedgerRound, _ session: PostgreSQLSession, until deadline: ContinuousClock.Instant
  ) throws(PostgreSQLError) {
    let run = { (statements: [PostgreSQLStatement]) throws(PostgreSQLError) -> [PostgreSQLRows] in
      let left = deadline - .now
      guard left > .zero else { throw PostgreSQLError(.connectionLost, "the time of the batch is over") }
      return try session.run(statements, within: min(left, self.longestRun))
    }
    for _ in 0..<Self.maxCollisions {
      try round.write(sql, run: run)
      if !round.isDone { try round.resolve(sql, run: run, judge: judge) }
      if let time = round.serverTime { _ = judge(time) }
      if round.isDone { return }
    }
    round.fail(LedgerError("other workers change the same jobs", isRetriable: true))
  }

  /// The time by which leases are judged: the server's, without a recent step.
  private func judge(_ serverTime: UnixTime) -> UnixTime {
    let moment = clock.now()
    return filter.withLock { $0.time(serverTime, at: moment) }
  }
}

// MARK: - Connections

extension PostgreSQLLedger {
  private func ask<Answer: Sendable>(
    _ body: @escaping @Sendable (PostgreSQLSession) throws(PostgreSQLError) -> Answer
  ) async throws(LedgerError) -> Answer {
    do throws(PostgreSQLError) {
      return try await other.withSession(body)
    } catch {
      throw LedgerError(error)
    }
  }

  /// Limits that let a batch end in time, and leave time for a second connection.
  private static func narrowed(_ options: PostgreSQLOptions, longestRun: Duration) -> PostgreSQLOptions {
    var options = options
    options.connectTimeout = min(options.connectTimeout, connectTimeout)
    options.statementTimeout = min(options.statementTimeout, longestRun)
    options.lockTimeout = min(options.lockTimeout, .seconds(1))
    options.answerGrace = min(options.answerGrace, .milliseconds(200))
    options.runTimeout = min(options.runTimeout, longestRun)
    options.tcpUserTimeout = min(options.tcpUserTimeout, longestRun)
    options.reconnectDelay = .milliseconds(50) ... .milliseconds(500)
    return options
  }

  /// Each statement finds its rows by an index. The planner would scan a table that it believes to be small, and keep
  /// that plan while the table grows.
  private static let prepare: @Sendable (PostgreSQLSession) throws(PostgreSQLError) -> Void = {
    session throws(PostgreSQLError) in
    let others = ["seqscan", "bitmapscan", "hashjoin", "mergejoin"]
    try session.script(others.map { "SET enable_\($0) = off" }.joined(separator: "; "))
  }
}

extension PostgreSQLError {
  /// Whether it is gone as soon as there is a new connection, or the others have made room.
  fileprivate var isWorthRepeating: Bool {
    switch code {
    case .unreachable, .connectionLost, .readOnly, .lockTimeout, .deadlock, .serialization, .shuttingDown: true
    default: false
    }
  }
}

extension Result<LedgerAnswer, LedgerError> {
  fileprivate var isRetriableFailure: Bool {
    if case .failure(let error) = self { error.isRetriable } else { false }
  }
}

extension LedgerError {
  fileprivate static let canceled = LedgerError("the worker ended meanwhile", isRetriable: true)

  init(_ error: PostgreSQLError) {
    self.init(error.description, isRetriable: error.isRetriable)
  }
}

/// A claim that failed, and that the server may have committed all the same.
private struct DoubtfulClaim {
  let claim: LedgerClaim
  /// Time of the failure. The server commits it no more when a statement's longest run has passed since.
  let since: MonotonicTime
}
