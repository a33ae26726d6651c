import AMQP
import Database
import Telemetry

/// Publishes what was left over: at the start what the process before did not get confirmed, later what the broker did not take.
final class OutboxRelay: Sendable {
  private let outbox: Outbox
  private let database: Database
  private let clock: any WallClock
  private let logger: Logger
  private let metrics: CoordinatorMetrics

  /// Rows that are read at once.
  static let maxRows = 16

  init(outbox: Outbox, database: Database, clock: any WallClock, logger: Logger, metrics: CoordinatorMetrics) {
    self.outbox = outbox
    self.database = database
    self.clock = clock
    self.logger = logger
    self.metrics = metrics
  }

  /// Makes every row of the process before due. To be called before anything new is written.
  func takeOver() async throws(DatabaseError) {
    let (count, live) = try await database.write { session throws(DatabaseError) in
      try session.execute("UPDATE outbox SET retry_at = 0")
      return (
        try Self.number("SELECT coalesce(sum(count), 0) FROM outbox", session),
        try Self.number("SELECT count(*) FROM verification WHERE live = 1", session)
      )
    }
    metrics.outboxMessages.set(Double(count))
    metrics.liveVerifications.set(Double(live))
    if count > 0 { logger.info("messages of the last run are published now", [.count: count]) }
  }

  private static func number(_ sql: String, _ session: Session) throws(DatabaseError) -> Int {
    try session.first(sql) { row throws(DatabaseError) in row.int(0) } ?? 0
  }

  /// Publishes the rows that are due.
  /// - Returns: whether there may be more.
  func relay() async throws -> Bool {
    let now = clock.now()
    let rows = try await database.read { session throws(DatabaseError) in
      try session.query(
        "SELECT number, messages, count FROM outbox WHERE retry_at <= ? ORDER BY number LIMIT ?",
        [.integer(now.milliseconds), Value(Self.maxRows)]
      ) { row throws(DatabaseError) in (number: row.int(0), blob: row.blob(1), count: row.int(2)) }
    }
    for row in rows {
      guard let messages = OutboxCodec.decode(row.blob) else {
        logger.error("a row of the outbox cannot be read and is deleted", [.count: row.count])
        try await delete(row.number, messages: row.count)
        continue
      }
      try await publish(OutboxRow(number: row.number, messages: messages), at: now)
    }
    return rows.count == Self.maxRows
  }

  private func publish(_ row: OutboxRow, at now: UnixTime) async throws {
    let needed = row.messages.filter { $0.discardAfter.map { now < $0 } ?? true }
    let dropped = row.messages.count - needed.count
    if dropped > 0 {
      metrics.outboxMessages.add(Double(-dropped))
      logger.warning("jobs that nobody took in time are dropped", [.count: dropped])
    }
    guard !needed.isEmpty else { return try await delete(row.number, messages: 0) }
    _ = try await outbox.publish(OutboxRow(number: row.number, messages: needed), with: [])
    // Confirmed rows go at once here: they must not be found again.
    try await deleteConfirmed()
  }

  private func delete(_ number: Int, messages: Int) async throws(DatabaseError) {
    metrics.outboxMessages.add(Double(-messages))
    try await database.write { session throws(DatabaseError) in try Outbox.delete([number], in: session) }
  }

  /// Deletes the rows that are confirmed: for times when no batch comes that would do it.
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
