import CountersignTelemetry
import PostgreSQL
import Synchronization

/// Loads keys into a working set: all parts of a load in one round trip.
struct PostgreSQLLoad {
  let session: PostgreSQLSession
  /// Records to lock, beside those of the first load, until the end of the transaction, so that no other writer is
  /// faster. `nil` for a load without locks.
  var locked: [RecordID]?
  /// Whether all statements see one state. Otherwise each sees what is committed by then.
  var isOneState = false

  /// Rows of one part: every key finds some, and a counter finds several.
  private static let maxRows = 1 << 23

  func run<Value>(
    _ first: StoreKeys, into set: inout WorkingSet, _ body: (inout WorkingSet) throws(StoreError) -> Value
  ) throws(StoreError) -> Value {
    if let locked { try lock(locked, and: first) }
    try load(first, into: &set)
    return try set.run(load: load, body)
  }

  func load(_ keys: StoreKeys, into set: inout WorkingSet) throws(StoreError) {
    // What a later load finds must not be the work of a message that an earlier one has not seen.
    let messages = isOneState ? [] : set.newMessages
    try set.begin(keys)
    let parts = parts(of: keys)
    guard !parts.isEmpty else { return }
    var statements = parts.map { PostgreSQLStatement($0.sql, $0.values, maxRows: Self.maxRows) }
    if !messages.isEmpty {
      statements.append(PostgreSQLStatement(Self.received, [.byteArrays(messages.map(\.bytes))]))
    }
    let results = try session.run(statements)
    // What a newer version of the program wrote is an error of the content: it concerns the messages that lead to it.
    for (part, rows) in zip(parts, results) { try read(part.name, rows, keys, into: &set) }
    if !messages.isEmpty, let received = results.last, !received.isEmpty { throw StoreError(.received) }
  }

  // MARK: Locks

  /// Records by their IDs, and those that hold keys: all rows in one pass, in one order for every writer.
  static let locks = """
    SELECT FROM (
      SELECT k.id, k.kind FROM unnest($1::text[], $2::text[]) AS k (id, kind)
      UNION SELECT u.id, k.kind FROM unnest($3::bytea[], $4::text[]) AS k (key, kind)
        JOIN store_unique u ON u.key = k.key
    ) AS k JOIN store_record r ON r.id = k.id AND r.kind = k.kind
    ORDER BY r.id, r.kind FOR UPDATE OF r
    """

  private func lock(_ found: [RecordID], and keys: StoreKeys) throws(StoreError) {
    let ids = found + keys.records
    guard !ids.isEmpty || !keys.holders.isEmpty else { return }
    try session.run([
      PostgreSQLStatement(
        Self.locks,
        [
          .texts(ids.map(\.text)), .texts(ids.map(\.kind.name)), .byteArrays(keys.holders.map(\.bytes)),
          .texts(keys.holders.map(\.space.kind.name)),
        ], maxRows: Self.maxRows)
    ])
  }

  // MARK: Parts

  private enum Name {
    case records, holders, groups, counters, messages
  }

  private typealias Part = (name: Name, sql: String, values: [PostgreSQLValue])

  /// The inbox comes last: a look that sees what a message changed also sees its entry.
  private func parts(of keys: StoreKeys) -> [Part] {
    var parts: [Part] = []
    if !keys.records.isEmpty {
      parts.append(
        (
          .records, Self.records,
          [.texts(keys.records.map(\.text)), .texts(keys.records.map(\.kind.name))]
        ))
    }
    if !keys.holders.isEmpty {
      parts.append(
        (
          .holders, Self.holders,
          [.byteArrays(keys.holders.map(\.bytes)), .texts(keys.holders.map(\.space.kind.name))]
        ))
    }
    if !keys.groups.isEmpty {
      let groups = Array(keys.groups)
      parts.append(
        (
          .groups, Self.groups,
          [
            .byteArrays(groups.map(\.key.bytes)), .texts(groups.map(\.key.space.kind.name)),
            .texts(groups.map(\.value.behind)), .integers(groups.map { Int64($0.value.limit) }),
          ]
        ))
    }
    if !keys.counters.isEmpty {
      let counters = Array(keys.counters)
      parts.append(
        (.counters, Self.counters, [.byteArrays(counters.map(\.key.bytes)), .integers(counters.map(\.value))]))
    }
    if !keys.messages.isEmpty {
      parts.append((.messages, Self.messages, [.byteArrays(keys.messages.map(\.bytes))]))
    }
    return parts
  }

  private func read(
    _ part: Name, _ rows: PostgreSQLRows, _ keys: StoreKeys, into set: inout WorkingSet
  ) throws(StoreError) {
    switch part {
    case .messages: try readMessages(rows, keys.messages, into: &set)
    case .records: try readRecords(rows, keys.records, into: &set)
    case .holders: try readHolders(rows, keys.holders, into: &set)
    case .groups: try readGroups(rows, keys.groups, into: &set)
    case .counters: try readCounters(rows, keys.counters, into: &set)
    }
  }

  // MARK: Inbox

  static let messages = """
    SELECT i.key, i.state, i.fingerprint, i.type, i.reply, i.keep,
      EXISTS (SELECT FROM store_outbox o WHERE o.hold = i.key)
    FROM store_inbox i WHERE i.key = ANY ($1::bytea[])
    """

  static let received = "SELECT FROM store_inbox WHERE key = ANY ($1::bytea[])"

  private func readMessages(
    _ rows: PostgreSQLRows, _ keys: [InboxKey], into set: inout WorkingSet
  ) throws(StoreError) {
    for row in rows {
      guard let entry = try InboxEntry(row) else {
        throw StoreError(.content, "an inbox entry has an unknown state")
      }
      set.load(entry, of: InboxKey(stored: try row.bytes(0)), holdsMessages: try row.bool(6))
    }
    for key in keys { set.load(nil, of: key) }
  }

  // MARK: Records

  static let records = """
    SELECT \(RecordRowPostgreSQL.list("r.")) FROM unnest($1::text[], $2::text[]) AS k (id, kind)
    JOIN store_record r ON r.id = k.id AND r.kind = k.kind
    """

  private func readRecords(
    _ rows: PostgreSQLRows, _ ids: [RecordID], into set: inout WorkingSet
  ) throws(StoreError) {
    for row in rows {
      let row = try RecordRowPostgreSQL(row)
      if let record = row.record {
        set.load(record)
      } else if let id = RecordID(row.kind, row.id) {
        set.load(unreadable: id)
      }
    }
    for id in ids { set.load(absent: id) }
  }

  static let holders = """
    SELECT u.key, \(RecordRowPostgreSQL.list("r.")) FROM unnest($1::bytea[], $2::text[]) AS k (key, kind)
    JOIN store_unique u ON u.key = k.key JOIN store_record r ON r.id = u.id AND r.kind = k.kind
    """

  private func readHolders(
    _ rows: PostgreSQLRows, _ keys: [UniqueKey], into set: inout WorkingSet
  ) throws(StoreError) {
    var unreadable: Set<[UInt8]> = []
    for row in rows {
      if let record = try RecordRowPostgreSQL(row, at: 1).record {
        set.load(record)
      } else {
        unreadable.insert(try row.bytes(0))
      }
    }
    for key in keys {
      if !unreadable.isEmpty, unreadable.contains(key.bytes) { set.load(unreadableHolderOf: key) }
      set.load(absentHolderOf: key)
    }
  }

  static let groups = """
    SELECT k.key, \(RecordRowPostgreSQL.list("m."))
    FROM unnest($1::bytea[], $2::text[], $3::text[], $4::bigint[]) AS k (key, kind, behind, size)
    CROSS JOIN LATERAL (
      SELECT \(RecordRowPostgreSQL.list("r.")) FROM store_group g JOIN store_record r ON r.id = g.id AND r.kind = k.kind
      WHERE g.key = k.key AND g.id > k.behind ORDER BY g.id LIMIT k.size) m
    """

  private func readGroups(
    _ rows: PostgreSQLRows, _ keys: [GroupKey: StoreKeys.GroupPage], into set: inout WorkingSet
  ) throws(StoreError) {
    var found: [[UInt8]: (members: [Record], rows: Int)] = [:]
    for row in rows {
      let record = try RecordRowPostgreSQL(row, at: 1).record
      let key = try row.bytes(0)
      found[key, default: ([], 0)].rows += 1
      if let record { found[key]?.members.append(record) }
    }
    for (key, page) in keys {
      let (members, rows) = found[key.bytes] ?? ([], 0)
      set.load(
        members.sorted { $0.id.text.utf8.lexicographicallyPrecedes($1.id.text.utf8) }, of: key, page,
        isComplete: rows < page.limit)
    }
  }

  // MARK: Counters

  static let counters = """
    SELECT k.key, c.slot, c.count FROM unnest($1::bytea[], $2::bigint[]) AS k (key, since)
    CROSS JOIN LATERAL (
      SELECT slot, count FROM store_counter WHERE key = k.key AND slot >= k.since
      ORDER BY slot DESC LIMIT \(StoreLimits.maxCellsPerCounter)) c
    """

  private func readCounters(
    _ rows: PostgreSQLRows, _ keys: [CounterKey: Int64], into set: inout WorkingSet
  ) throws(StoreError) {
    var found: [[UInt8]: [CounterCell]] = [:]
    for row in rows {
      found[try row.bytes(0), default: []].append(
        CounterCell(slot: Int64(try row.int(1)), count: Int64(try row.int(2))))
    }
    for (key, since) in keys {
      set.load((found[key.bytes] ?? []).sorted { $0.slot < $1.slot }, of: key, since: since)
    }
  }
}

/// Records that a failed attempt has looked at, which the next one locks.
final class FoundRecords: Sendable {
  private let known = Mutex<[RecordID]>([])

  var ids: [RecordID] { known.withLock { $0 } }

  func note(_ set: WorkingSet) { known.withLock { $0 = Array(set.records.keys) } }
}

extension WorkingSet {
  fileprivate var newMessages: [InboxKey] { inbox.compactMap { key, slot in slot.stored == nil ? key : nil } }
}

extension RecordID {
  /// Order in which every writer locks records: by the bytes of their IDs, then of their kinds.
  static func precedes(_ left: RecordID, _ right: RecordID) -> Bool {
    if left.text == right.text { return left.kind.name.utf8.lexicographicallyPrecedes(right.kind.name.utf8) }
    return left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }
}
