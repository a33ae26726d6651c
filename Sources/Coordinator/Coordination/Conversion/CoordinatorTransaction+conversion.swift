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
