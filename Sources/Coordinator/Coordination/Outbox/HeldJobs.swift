import CountersignAMQP
import CountersignTelemetry
import SQLite

/// Jobs that must not go out before the reply to their command has.
///
/// An app drops a push whose receipt it does not know yet, and it learns of the receipt from the reply. So the job is
/// stored in a table of its own, in the transaction of the command; once the reply was published (confirmed, or
/// returned because the requester is gone), the job moves to the outbox and is published. Possible interruptions:
///
/// - The process dies before the acknowledgement of the command: the command is redelivered, its reply is published
///   again, and then the job.
/// - The command is not redelivered, because its queue was purged or it was dead-lettered: the maintenance releases the
///   job after ``maxHold``.
final class HeldJobs: Sendable {
  private let database: Database
  private let outbox: Outbox
  private let clock: any WallClock
  private let metrics: CoordinatorMetrics
  private let logger: Logger

  /// Maximum wait for the reply.
  static let maxHold = Duration.seconds(30)
  /// Commands whose jobs the maintenance releases in one transaction.
  static let maxRows = 64

  init(database: Database, outbox: Outbox, clock: any WallClock, metrics: CoordinatorMetrics, logger: Logger) {
    self.database = database
    self.outbox = outbox
    self.clock = clock
    self.metrics = metrics
    self.logger = logger
  }

  /// Publishes the jobs of commands whose replies are out. Failures are left to the maintenance.
  func release(_ commandIDs: [String]) async {
    do {
      try await move(commandIDs)
    } catch {
      logger.warning("jobs that wait for their reply are released later", [.error: "\(error)"])
    }
  }

  /// Publishes the jobs of commands that were not redelivered.
  /// - Returns: whether there may be more.
  func releaseOverdue() async throws -> Bool {
    let now = clock.now()
    // A hold longer than the maximum began before the clock was set back, unless the row is unreadable.
    let ids = try await database.read { session throws(DatabaseError) in
      try session.query(
        "SELECT command_id FROM held_job WHERE due_at <= ? OR (due_at > ? AND due_at < ?) ORDER BY due_at LIMIT ?",
        [
          .integer(now.milliseconds), .integer((now + Self.maxHold).milliseconds), UnreadableRow.mark,
          Value(Self.maxRows),
        ]
      ) { row throws(DatabaseError) in row.text(0) }
    }
    guard !ids.isEmpty else { return false }
    try await move(ids)
    return ids.count == Self.maxRows
  }

  private func move(_ ids: [String]) async throws {
    let now = clock.now()
    let (row, unreadable) = try await database.write { session throws(DatabaseError) -> (OutboxRow?, Int) in
      let transaction = CoordinatorTransaction(session, at: now, retention: .zero)
      var unreadable = 0
      for id in ids {
        guard let jobs = try transaction.takeHeldJobs(of: id) else {
          unreadable += 1
          continue
        }
        for job in jobs { transaction.enqueue(job) }
      }
      return (try transaction.flush(), unreadable)
    }
    if unreadable > 0 { try await tell(ofUnreadable: unreadable) }
    guard let row else { return }
    metrics.outboxMessages.add(Double(row.messages.count))
    _ = try await outbox.publish(row, with: [])
  }

  private func tell(ofUnreadable new: Int) async throws(DatabaseError) {
    logger.error(
      "jobs that wait for their reply cannot be read and are kept",
      [.count: new, .hint: "another version of the program wrote them: run that version until they are published"])
    metrics.skippedRows.with("held_job").increment(by: UInt64(new))
    let count = try await database.read { session throws(DatabaseError) in
      try session.first("SELECT count(*) FROM held_job WHERE due_at = ?", [UnreadableRow.mark]) {
        row throws(DatabaseError) in row.int(0)
      } ?? 0
    }
    outbox.health.unreadable(count, in: "held_job")
  }
}

extension CoordinatorTransaction {
  /// Holds jobs back until the reply to a command is out; see ``HeldJobs``.
  func hold(_ jobs: [OutgoingMessage], untilReplyTo commandID: String) throws(DatabaseError) {
    try session.execute(
      "INSERT OR REPLACE INTO held_job (command_id, due_at, messages) VALUES (?, ?, ?)",
      [.text(commandID), .integer((now + HeldJobs.maxHold).milliseconds), .blob(OutboxCodec.encode(jobs))])
  }

  /// Whether jobs wait for the reply to a command.
  func holdsJobs(of commandID: String) throws(DatabaseError) -> Bool {
    try session.first("SELECT 1 FROM held_job WHERE command_id = ?", [.text(commandID)]) { row throws(DatabaseError) in
      row.int(0)
    } != nil
  }

  /// - Returns: `nil` when they cannot be read; they are kept then.
  fileprivate func takeHeldJobs(of commandID: String) throws(DatabaseError) -> [OutgoingMessage]? {
    let blob = try session.first(
      "SELECT messages FROM held_job WHERE command_id = ?", [.text(commandID)]
    ) { row throws(DatabaseError) in row.blob(0) }
    guard let blob else { return [] }
    guard let jobs = OutboxCodec.decode(blob) else {
      try session.execute(
        "UPDATE held_job SET due_at = ? WHERE command_id = ?", [UnreadableRow.mark, .text(commandID)])
      return nil
    }
    try session.execute("DELETE FROM held_job WHERE command_id = ?", [.text(commandID)])
    return jobs
  }
}
