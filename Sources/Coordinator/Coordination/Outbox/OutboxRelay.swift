import CountersignAMQP
import CountersignTelemetry
import SQLite
import Synchronization

/// Publishes leftovers: at the start the unconfirmed messages of the previous process, later those that the broker did
/// not take.
final class OutboxRelay: Sendable {
  private let outbox: Outbox
  private let database: Database
  private let clock: any WallClock
  private let logger: Logger
  private let metrics: CoordinatorMetrics
  private let dropped: DroppedJobs
  /// The last row of the previous process. It, or an earlier one, may have been published already; their numbers are
  /// not used again.
  private let lastTakenOver = Mutex(0)

  /// Rows read at once.
  static let maxRows = 16

  init(
    outbox: Outbox, database: Database, clock: any WallClock, logger: Logger, metrics: CoordinatorMetrics,
    dropped: DroppedJobs
  ) {
    self.outbox = outbox
    self.database = database
    self.clock = clock
    self.logger = logger
    self.metrics = metrics
    self.dropped = dropped
  }

  /// Makes every row of the previous process due. Call before writing anything new.
  func takeOver() async throws(DatabaseError) {
    let (last, count, live) = try await database.write { session throws(DatabaseError) in
      try session.execute("UPDATE outbox SET retry_at = 0")
      // This version may be able to read the unreadable rows of another.
      try session.execute("UPDATE held_job SET due_at = 0 WHERE due_at = ?", [UnreadableRow.mark])
      return (
        try Self.number("SELECT coalesce(max(number), 0) FROM outbox", session),
        try Self.number("SELECT coalesce(sum(count), 0) FROM outbox", session),
        try Self.number("SELECT count(*) FROM verification WHERE live = 1", session)
      )
    }
    lastTakenOver.withLock { $0 = last }
    metrics.outboxMessages.set(Double(count))
    metrics.liveVerifications.set(Double(live))
    if count > 0 { logger.info("messages of the last run are published now", [.count: count]) }
  }

  private static func number(_ sql: String, _ session: Session) throws(DatabaseError) -> Int {
    try session.first(sql) { row throws(DatabaseError) in row.int(0) } ?? 0
  }

  /// A row postponed for longer than the retry delay was postponed before the clock was set back, unless it is
  /// unreadable.
  private static let isDue = "(retry_at <= ? OR (retry_at > ? AND retry_at < ?))"

  /// Publishes the due rows.
  /// - Returns: whether there may be more.
  func relay() async throws -> Bool {
    // A confirmed row must not be found: past its deadline, it would be reported as a job that no queue took.
    try await deleteConfirmed()
    let now = clock.now()
    let rows = try await database.read { session throws(DatabaseError) in
      try session.query(
        "SELECT number, messages, count FROM outbox WHERE \(Self.isDue) ORDER BY number LIMIT ?",
        [
          .integer(now.milliseconds), .integer((now + Outbox.retryDelay).milliseconds), UnreadableRow.mark,
          Value(Self.maxRows),
        ]
      ) { row throws(DatabaseError) in (number: row.int(0), blob: row.blob(1), count: row.int(2)) }
    }
    for row in rows {
      guard let messages = OutboxCodec.decode(row.blob) else {
        try await setAside(row.number, messages: row.count)
        continue
      }
      try await publish(OutboxRow(number: row.number, messages: messages), at: now)
    }
    return rows.count == Self.maxRows
  }

  private func publish(_ row: OutboxRow, at now: UnixTime) async throws {
    let late = row.messages.filter { $0.discardAfter.map { now >= $0 } ?? false }
    let needed = row.messages.filter { $0.discardAfter.map { now < $0 } ?? true }
    if !late.isEmpty {
      logger.warning("jobs that no worker took in time are dropped", [.count: late.count])
      let isNew = lastTakenOver.withLock { row.number > $0 }
      try await dropped.drop(late, from: row.number, leaving: needed, isTold: isNew, at: now)
    }
    guard !needed.isEmpty else { return }
    _ = try await outbox.publish(OutboxRow(number: row.number, messages: needed), with: [])
    // Confirmed rows go at once here: they must not be found again.
    try await deleteConfirmed()
  }

  /// Keeps an unreadable row: a revocation's token may exist nowhere else. The next start tries it again.
  private func setAside(_ number: Int, messages: Int) async throws(DatabaseError) {
    logger.error(
      "a row of the outbox cannot be read and is set aside",
      [.count: messages, .hint: "another version of the program wrote it: run that version until it is published"])
    metrics.skippedRows.with("outbox").increment()
    let count = try await database.write { session throws(DatabaseError) in
      try session.execute("UPDATE outbox SET retry_at = ? WHERE number = ?", [UnreadableRow.mark, Value(number)])
      return try Self.number("SELECT count(*) FROM outbox WHERE retry_at = \(Int64.max)", session)
    }
    outbox.health.unreadable(count, in: "outbox")
  }

  /// Deletes the confirmed rows at times without a batch that would do it.
  func deleteConfirmed() async throws(DatabaseError) {
    let numbers = outbox.takeConfirmed()
    guard !numbers.isEmpty else { return }
    do throws(DatabaseError) {
      try await database.write { session throws(DatabaseError) in try Outbox.delete(numbers, in: session) }
    } catch {
      outbox.restore(numbers)
      throw error
    }
  }
}

/// Rows of messages that this version cannot read; they are kept for one that can.
enum UnreadableRow {
  /// The time at which such a row is due: never, until the next start.
  static let mark = Value.integer(.max)
}
