import CountersignTelemetry
import SQLite

/// Processes due rows in one transaction. When a row cannot be read or processed, each gets a transaction of its own
/// and the faulty one is skipped: it must not block the others.
struct DueSweep: Sendable {
  let database: Database
  let retention: Duration
  let metrics: CoordinatorMetrics
  let logger: Logger

  /// Rows in one transaction.
  static let maxRows = 256
  /// Delay before a skipped row is tried again: another version of the program may run by then.
  static let pause = Duration.seconds(3600)
  /// Rows of one sweep that the log names; more would add nothing.
  static let maxLogged = 16

  /// Result of a transaction.
  struct Swept: Sendable {
    var counts = TransactionCounts()
    var messages = 0
    var changes = ConversionChanges()
    fileprivate var rows = 0
  }

  /// Processes the row of a key.
  typealias Step = @Sendable (String, CoordinatorTransaction) throws(DatabaseError) -> Void

  /// Processes the rows that have been due longest.
  /// - Parameters:
  ///   - kept: how long a row is kept after its end.
  ///   - finish: receives the outcome of each transaction, after its commit.
  /// - Returns: whether there may be more.
  func sweep(
    _ table: DueTable, kept: Duration, at now: UnixTime, finish: (Swept) -> Void, _ step: @escaping Step
  ) async throws(DatabaseError) -> Bool {
    do throws(DatabaseError) {
      let swept = try await together(table, at: now, step)
      finish(swept)
      return swept.rows == Self.maxRows
    } catch {
      guard error.fault == .content else { throw error }
    }
    let keys = try await database.read { session throws(DatabaseError) in try Self.due(table, at: now, in: session) }
    var skipped = 0
    for key in keys {
      do throws(DatabaseError) {
        finish(try await alone(key, at: now, step))
      } catch {
        guard error.fault == .content else { throw error }
        skipped += 1
        note(error, table, isLogged: skipped <= Self.maxLogged)
        try await stepAround(key, table, kept: kept, at: now)
      }
    }
    return keys.count == Self.maxRows
  }

  private func together(
    _ table: DueTable, at now: UnixTime, _ step: @escaping Step
  ) async throws(DatabaseError) -> Swept {
    try await database.write { [retention] session throws(DatabaseError) in
      let keys = try Self.due(table, at: now, in: session)
      return try Self.run(keys, CoordinatorTransaction(session, at: now, retention: retention), step)
    }
  }

  private func alone(_ key: String, at now: UnixTime, _ step: @escaping Step) async throws(DatabaseError) -> Swept {
    try await database.write { [retention] session throws(DatabaseError) in
      try Self.run([key], CoordinatorTransaction(session, at: now, retention: retention), step)
    }
  }

  private static func run(
    _ keys: [String], _ transaction: CoordinatorTransaction, _ step: Step
  ) throws(DatabaseError) -> Swept {
    var swept = Swept(rows: keys.count)
    for key in keys { try step(key, transaction) }
    // The relay publishes it: ending due rows must not wait for an absent broker.
    swept.messages = try transaction.flush(forRelay: true)?.messages.count ?? 0
    swept.changes = transaction.changes
    swept.counts = transaction.counts
    return swept
  }

  private static func due(_ table: DueTable, at now: UnixTime, in session: Session) throws(DatabaseError) -> [String] {
    try session.query(
      "SELECT \(table.key) FROM \(table.rawValue) WHERE due_at <= ? ORDER BY due_at LIMIT ?",
      [.integer(now.milliseconds), Value(maxRows)]
    ) { row throws(DatabaseError) in row.text(0) }
  }

  private func note(_ error: DatabaseError, _ table: DueTable, isLogged: Bool) {
    metrics.skippedRows.with(table.rawValue).increment()
    guard isLogged else { return }
    logger.error(
      "a row that is due cannot be dealt with and is stepped around",
      ["table": "\(table.rawValue)", .error: error.description, .retryIn: Self.pause])
  }

  /// Deletes an unreadable row if it is over, as a readable one would be; otherwise postpones it.
  private func stepAround(
    _ key: String, _ table: DueTable, kept: Duration, at now: UnixTime
  ) async throws(DatabaseError) {
    let before = Value.integer((now - kept).milliseconds)
    let later = Value.integer((now + Self.pause).milliseconds)
    try await database.write { session throws(DatabaseError) -> Void in
      let deleted = try session.execute(
        "DELETE FROM \(table.rawValue) WHERE \(table.key) = ? AND \(table.isOver)", [.text(key), before])
      guard deleted == 0 else { return }
      try session.execute(
        "UPDATE \(table.rawValue) SET due_at = ?\(table.release) WHERE \(table.key) = ?", [later, .text(key)])
    }
  }
}

/// A table whose rows become due: at their end, and again when they may be deleted.
enum DueTable: String, Sendable, CaseIterable {
  case verification
  case appProof = "app_proof"
  case assessment
  case revocation

  /// The column with its key.
  var key: String { self == .appProof ? "receipt" : "id" }

  /// Condition for a row that is over and due for deletion, independent of its state: `?` is one retention ago.
  var isOver: String { self == .assessment ? "expires_at <= ?" : "(ended_at IS NOT NULL OR expires_at <= ?)" }

  /// Change that makes room for others when a row is postponed: an unreadable verification must not keep its number.
  var release: String { self == .verification ? ", live = 0" : "" }
}
