import CountersignTelemetry
import PostgreSQL

/// PostgreSQL's files keep their size when rows go, for further rows. Its count of rows follows a little later. So the
/// size in use is the number of rows times their size, and rows that this process forgot since are subtracted.
struct LedgerEstimate: Sendable {
  /// Time for which the statistics are not read again: they need some of it to follow.
  static let life: Duration = .seconds(20)
  /// Bytes that a row costs besides its columns: its header, and its entries in the indexes with their free part.
  static let overhead: Int64 = 120

  private var readAt: MonotonicTime?
  private var fileBytes: Int64 = 0
  private var rows: Int64 = 0
  private var rowBytes: Int64 = 0
  private var oldest: UnixTime?

  init() {}

  init(_ session: PostgreSQLSession, at now: MonotonicTime) throws(StoreError) {
    let result = try session.run(LedgerSQL.size)
    guard let row = result.first else { return }
    readAt = now
    fileBytes = Int64(try row.int(0))
    rows = Int64(try row.int(1))
    rowBytes = Int64(try row.int(2)) + Self.overhead
    oldest = try row.optionalInt(3).map { UnixTime(milliseconds: Int64($0)) }
  }

  mutating func forget(_ count: Int) { rows = max(0, rows - Int64(count)) }

  func size(at now: MonotonicTime) -> LedgerSize? {
    guard let readAt, now - readAt < Self.life else { return nil }
    return LedgerSize(fileBytes: fileBytes, usedBytes: min(fileBytes, rows * rowBytes), oldest: oldest)
  }
}
