import CountersignTelemetry
import SQLite

/// Everything in an SQLite store, page by page.
public struct SQLiteArchive: StoreArchive {
  private let store: SQLiteStore

  public init(_ store: SQLiteStore) {
    self.store = store
  }

  public func page(
    _ part: StoreCopyPart, behind place: StorePlace, limit: Int
  ) async throws(StoreError) -> (page: StorePage, place: StorePlace) {
    try await store.look { session throws(StoreError) in
      switch part {
      case .records: try Self.records(behind: place, limit, session)
      case .inbox: try Self.inbox(behind: place, limit, session)
      case .counters: try Self.counters(behind: place, limit, session)
      case .outbox: try Self.outbox(behind: place, limit, session)
      }
    }
  }

  // MARK: Parts

  static let records = "SELECT \(RecordColumn.list()) FROM store_record WHERE number > ? ORDER BY number LIMIT ?"

  private static func records(
    behind place: StorePlace, _ limit: Int, _ session: StoreSession
  ) throws(StoreError) -> (StorePage, StorePlace) {
    let rows = try session.query(records, [.integer(place.number), Value(limit)]) { row in
      RecordRow(row, RecordKind(stored: row.text(RecordColumn.kind)))
    }
    let readable = rows.compactMap(\.record).map { record in
      Record(
        record.id, body: record.body, dueAt: record.dueAt, discardAt: record.discardAt, uniqueKeys: record.uniqueKeys,
        groupKeys: record.groupKeys)
    }
    return (
      StorePage(records: readable, unreadable: rows.count - readable.count, rows: rows.count),
      StorePlace(number: rows.last.map { Int64($0.number) } ?? place.number)
    )
  }

  static let inbox = "SELECT \(InboxColumn.list()), number FROM store_inbox WHERE number > ? ORDER BY number LIMIT ?"

  private static func inbox(
    behind place: StorePlace, _ limit: Int, _ session: StoreSession
  ) throws(StoreError) -> (StorePage, StorePlace) {
    let rows = try session.query(inbox, [.integer(place.number), Value(limit)]) { row in
      (
        key: InboxKey(stored: row.blob(InboxColumn.key)), entry: InboxEntry(row),
        number: row.int(InboxColumn.allCases.count)
      )
    }
    let readable = rows.compactMap { row in row.entry.map { (key: row.key, entry: $0) } }
    return (
      StorePage(entries: readable, unreadable: rows.count - readable.count, rows: rows.count),
      StorePlace(number: rows.last.map { Int64($0.number) } ?? place.number)
    )
  }

  static let cells = """
    SELECT key, slot, count, keep FROM store_counter WHERE (key, slot) > (?, ?) ORDER BY key, slot LIMIT ?
    """

  private static func counters(
    behind place: StorePlace, _ limit: Int, _ session: StoreSession
  ) throws(StoreError) -> (StorePage, StorePlace) {
    let cells = try session.query(cells, [.blob(place.key), .integer(place.number), Value(limit)]) { row in
      StorePage.Cell(
        key: CounterKey(stored: row.blob(0)), slot: Int64(row.int(1)), count: Int64(row.int(2)),
        keepUntil: UnixTime(milliseconds: Int64(row.int(3))))
    }
    return (
      StorePage(cells: cells, rows: cells.count),
      cells.last.map { StorePlace(number: $0.slot, key: $0.key.bytes) } ?? place
    )
  }

  static let outbox = """
    SELECT number, retry, discard, hold, type, content FROM store_outbox WHERE number > ? ORDER BY number LIMIT ?
    """

  private static func outbox(
    behind place: StorePlace, _ limit: Int, _ session: StoreSession
  ) throws(StoreError) -> (StorePage, StorePlace) {
    let rows = try session.query(outbox, [.integer(place.number), Value(limit)]) { row in
      let command = row.isNull(3) ? nil : InboxKey(stored: row.blob(3))
      return (
        number: Int64(row.int(0)),
        message: OutboxMessage(
          type: row.text(4), content: row.blob(5),
          discardAt: row.optionalInt(2).map { UnixTime(milliseconds: Int64($0)) },
          hold: command.map {
            OutboxMessage.Hold(untilReplyTo: $0, orAt: UnixTime(milliseconds: Int64(row.optionalInt(1) ?? 0)))
          })
      )
    }
    return (
      StorePage(messages: rows.map(\.message), rows: rows.count),
      StorePlace(number: rows.last?.number ?? place.number)
    )
  }

  // MARK: Counts

  public func counts() async throws(StoreError) -> StoreCounts {
    try await store.look { session throws(StoreError) in
      func count(_ sql: String) throws(StoreError) -> Int { try session.first(sql, []) { $0.int(0) } ?? 0 }
      var counts = StoreCounts()
      counts.records = try count("SELECT count(*) FROM store_record")
      counts.keys = try count("SELECT (SELECT count(*) FROM store_unique) + (SELECT count(*) FROM store_group)")
      counts.inbox = try count("SELECT count(*) FROM store_inbox")
      counts.cells = try count("SELECT count(*) FROM store_counter")
      counts.events = Int64(try count("SELECT coalesce(sum(count), 0) FROM store_counter"))
      counts.messages = try count("SELECT count(*) FROM store_outbox")
      return counts
    }
  }
}
