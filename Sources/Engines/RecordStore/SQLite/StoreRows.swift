import CountersignTelemetry
import SQLite

/// Columns of a query, read by their names: the list in its text and the places in its rows come from the same cases.
protocol StoreColumn: RawRepresentable, CaseIterable where RawValue == Int {}

extension StoreColumn {
  /// `a.key, a.slot` for the prefix `a.`
  static func list(_ prefix: String = "") -> String {
    allCases.map { "\(prefix)\($0)" }.joined(separator: ", ")
  }
}

extension Row {
  func text(_ column: some StoreColumn) -> String { text(column.rawValue) }
  func blob(_ column: some StoreColumn) -> [UInt8] { blob(column.rawValue) }
  func int(_ column: some StoreColumn) -> Int { int(column.rawValue) }
  func optionalInt(_ column: some StoreColumn) -> Int? { optionalInt(column.rawValue) }
  func time(_ column: some StoreColumn) -> UnixTime { UnixTime(milliseconds: Int64(int(column))) }
  func optionalTime(_ column: some StoreColumn) -> UnixTime? {
    optionalInt(column).map { UnixTime(milliseconds: Int64($0)) }
  }
}

enum InboxColumn: Int, StoreColumn {
  case key, state, fingerprint, type, reply, keep
}

enum RecordColumn: Int, StoreColumn {
  case number, kind, id, version, due, discard, format, keys, body
}

enum CounterColumn: Int, StoreColumn {
  case key, slot, count
}

enum OutboxColumn: Int, StoreColumn {
  case number, owner, retry, discard, hold, tries, type, content
}

extension InboxEntry {
  enum StateCode: Int {
    case reserved, replied, unrecorded
  }

  var stored: (code: StateCode, type: String, reply: [UInt8]) {
    switch state {
    case .reserved: (.reserved, "", [])
    case .replied(let type, let body): (.replied, type, body)
    case .unrecorded(let note): (.unrecorded, "", note)
    }
  }

  init?(_ row: Row) {
    let state: State
    switch StateCode(rawValue: row.int(InboxColumn.state)) {
    case .reserved: state = .reserved
    case .replied: state = .replied(type: row.text(InboxColumn.type), body: row.blob(InboxColumn.reply))
    case .unrecorded: state = .unrecorded(note: row.blob(InboxColumn.reply))
    case nil: return nil
    }
    self.init(state, fingerprint: row.blob(InboxColumn.fingerprint), keepUntil: row.time(InboxColumn.keep))
  }

  func append(to values: inout [Value]) {
    let (code, type, reply) = stored
    values.append(Value(code.rawValue))
    values.append(.blob(fingerprint))
    values.append(.text(type))
    values.append(.blob(reply))
    values.append(.integer(keepUntil.milliseconds))
  }
}

/// Its number is needed for its keys.
struct RecordRow {
  static let format = 1

  let number: Int
  /// `nil` when this version cannot read the row.
  let record: Record?
  let discardAt: UnixTime?

  init(_ row: Row, _ kind: RecordKind) {
    number = row.int(RecordColumn.number)
    discardAt = row.optionalTime(RecordColumn.discard)
    record = Self.record(row, kind)
  }

  private static func record(_ row: Row, _ kind: RecordKind) -> Record? {
    guard row.int(RecordColumn.format) == format, let id = RecordID(kind, row.text(RecordColumn.id)),
      let keys = StoredKeys(row.blob(RecordColumn.keys), kind)
    else { return nil }
    return Record(
      id: id, version: row.int(RecordColumn.version), dueAt: row.optionalTime(RecordColumn.due),
      discardAt: row.optionalTime(RecordColumn.discard), uniqueKeys: keys.unique, groupKeys: keys.group,
      body: row.blob(RecordColumn.body))
  }
}

/// The keys of a record as one blob: for each its sort, its length, and its bytes.
struct StoredKeys {
  var unique: [UniqueKey] = []
  var group: [GroupKey] = []

  private static let uniqueSort = UInt8(ascii: "u")
  private static let groupSort = UInt8(ascii: "g")

  init?(_ bytes: [UInt8], _ kind: RecordKind) {
    var rest = bytes[...]
    while let sort = rest.popFirst() {
      guard let length = rest.popFirst(), rest.count >= Int(length) else { return nil }
      let key = Array(rest.prefix(Int(length)))
      rest = rest.dropFirst(Int(length))
      guard let space = KeySpace(stored: key, kind) else { return nil }
      switch sort {
      case Self.uniqueSort: unique.append(UniqueKey(space, stored: key))
      case Self.groupSort: group.append(GroupKey(space, stored: key))
      default: return nil
      }
    }
  }

  static func bytes(_ record: Record) -> [UInt8] {
    var bytes: [UInt8] = []
    let length = record.uniqueKeys.reduce(0) { $0 + $1.bytes.count + 2 }
    bytes.reserveCapacity(record.groupKeys.reduce(length) { $0 + $1.bytes.count + 2 })
    for key in record.uniqueKeys { append(key.bytes, uniqueSort, to: &bytes) }
    for key in record.groupKeys { append(key.bytes, groupSort, to: &bytes) }
    return bytes
  }

  private static func append(_ key: [UInt8], _ sort: UInt8, to bytes: inout [UInt8]) {
    bytes.append(sort)
    bytes.append(UInt8(key.count))
    bytes.append(contentsOf: key)
  }
}

extension KeySpace {
  fileprivate init?(stored bytes: [UInt8], _ kind: RecordKind) {
    let start = kind.name.utf8.count + 1
    guard let end = bytes.firstIndex(of: 0), end > start, bytes.starts(with: kind.name.utf8),
      bytes[start - 1] == UInt8(ascii: ".")
    else { return nil }
    let name = String(decoding: bytes[start..<end], as: UTF8.self)
    guard RecordKind.isName(name) else { return nil }
    self.init(kind, stored: name)
  }
}
