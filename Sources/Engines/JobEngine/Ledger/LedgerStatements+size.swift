import CountersignTelemetry
import SQLite

extension LedgerStatements {
  /// Visits rows of any age: one with a long retention does not block those after it.
  static func purge(
    at time: UnixTime, from first: Int64, limit: Int, _ session: Session
  ) throws(StoreError) -> LedgerPurgeStep {
    let window = try session.first(
      "SELECT max(id), count(*) FROM (SELECT id FROM job WHERE id >= ? ORDER BY id LIMIT ?)",
      [.integer(first), .integer(Int64(limit))]
    ) { row throws(StoreError) in (last: Int64(row.int(0)), count: row.int(1)) }
    guard let window, window.count > 0 else { return LedgerPurgeStep(forgotten: 0) }
    let forgotten = try session.execute(
      "DELETE FROM job WHERE id BETWEEN ? AND ? AND keep_until < ?",
      [.integer(first), .integer(window.last), .integer(time.milliseconds)])
    return LedgerPurgeStep(forgotten: forgotten, next: window.count < limit ? nil : window.last + 1)
  }

  /// Ended jobs only: the ledger exists for begun ones, and for those that may have begun.
  static func forgetOldest(limit: Int, _ session: Session) throws(StoreError) -> Int {
    try session.execute(
      "DELETE FROM job WHERE id IN (SELECT id FROM job WHERE state = 2 ORDER BY id LIMIT ?)", [.integer(Int64(limit))])
  }

  static func size(_ session: Session) throws(StoreError) -> LedgerSize {
    func number(_ pragma: String) throws(StoreError) -> Int64 {
      try session.first(pragma) { row throws(StoreError) in Int64(row.int(0)) } ?? 0
    }
    let page = try number("PRAGMA page_size")
    let (pages, free) = (try number("PRAGMA page_count"), try number("PRAGMA freelist_count"))
    let oldest = try session.first("SELECT written_at FROM job ORDER BY id LIMIT 1") { row throws(StoreError) in
      UnixTime(milliseconds: Int64(row.int(0)))
    }
    return LedgerSize(fileBytes: pages * page, usedBytes: (pages - free) * page, oldest: oldest)
  }

  /// The statement takes a step for each page.
  static func shrink(pages: Int, _ session: Session) throws(StoreError) {
    _ = try session.query("PRAGMA incremental_vacuum(\(pages))") { _ throws(StoreError) in }
  }
}
