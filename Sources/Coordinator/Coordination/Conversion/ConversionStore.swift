import CountersignTelemetry
import SQLite

extension CoordinatorTransaction {
  private static let columns = "scope, key, region, blocked_at, until, lifted_at, sent, verified"

  private static func read(_ row: Row) throws(DatabaseError) -> ConversionBlock {
    ConversionBlock(
      scope: try row.word(0, ConversionBlock.Scope.self), key: row.text(1), region: row.text(2), blockedAt: row.time(3),
      until: row.time(4), liftedAt: row.optionalTime(5),
      counts: ConversionCounts(sent: row.int(6), verified: row.int(7)))
  }

  /// All stored blocks, including those that have ended.
  /// - Returns: `nil` for an unreadable one.
  static func conversionBlocks(_ session: Session) throws(DatabaseError) -> [ConversionBlock?] {
    try session.query("SELECT \(columns) FROM conversion_block", []) { row throws(DatabaseError) in
      try row.unlessUnreadable(read)
    }
  }

  /// The block of a key, if it is in force.
  func conversionBlock(_ key: String) throws(DatabaseError) -> ConversionBlock? {
    try session.first(
      "SELECT \(Self.columns) FROM conversion_block WHERE key = ? AND lifted_at IS NULL AND until > ?",
      [.text(key), .integer(now.milliseconds)], Self.read)
  }

  /// The blocks in force, the latest first.
  func conversionBlocks(limit: Int) throws(DatabaseError) -> [ConversionBlock] {
    try session.query(
      """
      SELECT \(Self.columns) FROM conversion_block WHERE lifted_at IS NULL AND until > ?
      ORDER BY blocked_at DESC, key LIMIT ?
      """, [.integer(now.milliseconds), Value(limit)]
    ) { row throws(DatabaseError) in try row.unlessUnreadable(Self.read) }.compactMap { $0 }
  }

  func conversionBlockCount() throws(DatabaseError) -> Int {
    try session.first(
      "SELECT count(*) FROM conversion_block WHERE lifted_at IS NULL AND until > ?", [.integer(now.milliseconds)]
    ) { row throws(DatabaseError) in row.int(0) } ?? 0
  }

  /// Stores a block in the place of an earlier one of its key.
  func store(_ block: ConversionBlock) throws(DatabaseError) {
    try session.execute(
      "INSERT OR REPLACE INTO conversion_block (\(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      [
        .text(block.scope.rawValue), .text(block.key), .text(block.region), .integer(block.blockedAt.milliseconds),
        .integer(block.until.milliseconds), Value(block.liftedAt?.milliseconds), Value(block.counts.sent),
        Value(block.counts.verified),
      ])
  }

  /// All stored outages, oldest first.
  static func conversionOutages(_ session: Session) throws(DatabaseError) -> [ConversionOutage] {
    try session.query("SELECT since, until FROM conversion_outage ORDER BY since", []) { row throws(DatabaseError) in
      ConversionOutage(since: row.time(0), until: row.time(1))
    }
  }

  /// Stores an outage or its new end, and deletes those that no longer matter.
  static func store(
    _ outage: ConversionOutage, deletingBefore horizon: UnixTime, in session: Session
  ) throws(DatabaseError) {
    try session.execute("DELETE FROM conversion_outage WHERE until < ?", [.integer(horizon.milliseconds)])
    try session.execute(
      "INSERT INTO conversion_outage (since, until) VALUES (?, ?) ON CONFLICT (since) DO UPDATE SET until = excluded.until",
      [.integer(outage.since.milliseconds), .integer(outage.until.milliseconds)])
  }

  func delete(conversionBlock key: String) throws(DatabaseError) {
    try session.execute("DELETE FROM conversion_block WHERE key = ?", [.text(key)])
  }
}

/// Restores the conversion of the previous process at a start: blocks and outages from their tables, the windows from
/// the verifications that have ended. The time without a process is an outage, too.
struct ConversionLoader: Sendable {
  let database: Database
  let rules: CoordinatorRules
  let clock: any WallClock
  /// Called with table and number of unreadable rows; they are not counted.
  var onSkipped: @Sendable (String, Int) -> Void = { _, _ in }

  /// Rows read at once.
  static let pageRows = 4_096
  /// Rows read in all, the latest first; older ones are not counted again. A start must not take minutes, and a window
  /// that large is soon full again.
  static let maxRows = 256 * pageRows

  /// - Throws: when the database cannot be read or written.
  func load(_ conversions: ConversionMonitor) async throws(DatabaseError) {
    let (blocks, outages) = try await database.read { session throws(DatabaseError) in
      (try CoordinatorTransaction.conversionBlocks(session), try CoordinatorTransaction.conversionOutages(session))
    }
    let readable = blocks.compactMap { $0 }
    if readable.count < blocks.count { onSkipped("conversion_block", blocks.count - readable.count) }
    conversions.restore(readable, outages)
    let now = clock.now()
    try await conversions.save(conversions.noteOutage(at: now), in: database, at: now)
    guard rules.conversion.isEnabled else { return }
    var page: Page? = Page(dueAt: .max, row: .max)
    for _ in 0..<(Self.maxRows / Self.pageRows) {
      guard let current = page else { break }
      let endings: [ConversionEnding]
      (endings, page) = try await read(current, endedAfter: now - rules.conversion.window)
      conversions.recount(endings, at: now)
    }
    conversions.judge(at: now)
  }

  /// End of a page of rows; the next page begins after it.
  private struct Page: Sendable {
    var dueAt: Int64
    var row: Int64
  }

  /// A finished row becomes due for deletion one retention after its end, so the index on that time leads to it. For a
  /// while after the configured retention was extended it leads to too few rows, which errs on the side of letting SMS
  /// through.
  private func read(
    _ page: Page, endedAfter: UnixTime
  ) async throws(DatabaseError) -> ([ConversionEnding], Page?) {
    let dueAfter = endedAfter + rules.retention
    let rows = try await database.read { session throws(DatabaseError) in
      try session.query(
        """
        SELECT \(VerificationRow.endingColumns), due_at, rowid FROM verification
        WHERE due_at > ? AND (due_at, rowid) < (?, ?) AND live = 0 AND ended_at > ?
        ORDER BY due_at DESC, rowid DESC LIMIT ?
        """,
        [
          .integer(dueAfter.milliseconds), .integer(page.dueAt), .integer(page.row), .integer(endedAfter.milliseconds),
          Value(Self.pageRows),
        ]
      ) { row throws(DatabaseError) in
        let next = Page(dueAt: Int64(row.int(row.count - 2)), row: Int64(row.int(row.count - 1)))
        return (ending: try row.unlessUnreadable(VerificationRow.readEnding), next: next)
      }
    }
    let skipped = rows.count { $0.ending == nil }
    if skipped > 0 { onSkipped(DueTable.verification.rawValue, skipped) }
    return (rows.compactMap { $0.ending ?? nil }, rows.count == Self.pageRows ? rows.last?.next : nil)
  }
}
