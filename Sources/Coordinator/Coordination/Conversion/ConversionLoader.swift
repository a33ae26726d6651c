import CountersignTelemetry
import SQLite

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
  func load(_ conversions: ConversionKeeper) async throws(DatabaseError) {
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
