import CountersignTelemetry
import PostgreSQL

extension PostgreSQLRow {
  func time(_ column: Int) throws(StoreError) -> UnixTime { UnixTime(milliseconds: Int64(try int(column))) }

  func optionalTime(_ column: Int) throws(StoreError) -> UnixTime? {
    try optionalInt(column).map { UnixTime(milliseconds: Int64($0)) }
  }
}

extension InboxEntry {
  init?(_ row: PostgreSQLRow) throws(StoreError) {
    let state: State
    switch StateCode(rawValue: try row.int(1)) {
    case .reserved: state = .reserved
    case .replied: state = .replied(type: try row.text(3), body: try row.bytes(4))
    case .unrecorded: state = .unrecorded(note: try row.bytes(4))
    case nil: return nil
    }
    self.init(state, fingerprint: try row.bytes(2), keepUntil: try row.time(5))
  }
}

struct RecordRowPostgreSQL {
  static let columns = ["kind", "id", "version", "due", "discard", "format", "keys", "body"]

  static func list(_ prefix: String = "") -> String { columns.map { prefix + $0 }.joined(separator: ", ") }

  let kind: RecordKind
  let id: String
  /// `nil` when this version cannot read the row.
  let record: Record?
  let discardAt: UnixTime?

  init(_ row: PostgreSQLRow, at first: Int = 0) throws(StoreError) {
    kind = RecordKind(stored: try row.text(first))
    id = try row.text(first + 1)
    discardAt = try row.optionalTime(first + 4)
    guard try row.int(first + 5) == RecordRow.format, let recordID = RecordID(kind, id),
      let keys = StoredKeys(try row.bytes(first + 6), kind)
    else {
      record = nil
      return
    }
    record = Record(
      id: recordID, version: try row.int(first + 2), dueAt: try row.optionalTime(first + 3), discardAt: discardAt,
      uniqueKeys: keys.unique, groupKeys: keys.group, body: try row.bytes(first + 7))
  }
}

/// Columns of several values, as `unnest` takes them.
extension PostgreSQLValue {
  static func texts(_ values: [String]) -> PostgreSQLValue { .texts(values.map(Optional.some)) }
  static func byteArrays(_ values: [[UInt8]]) -> PostgreSQLValue { .byteArrays(values.map(Optional.some)) }
  static func integers(_ values: [Int64]) -> PostgreSQLValue { .integers(values.map(Optional.some)) }
  static func times(_ values: [UnixTime?]) -> PostgreSQLValue { .integers(values.map { $0?.milliseconds }) }
}
