import CountersignTelemetry
import SQLite

struct SQLiteLoad {
  let session: Session

  /// Keys of one statement. The rest of a list is filled up with NULL, which equals nothing, so that there is one
  /// statement for each part.
  static let chunk = 32

  func run<Value>(
    _ first: StoreKeys, into set: inout WorkingSet, _ body: (inout WorkingSet) throws(StoreError) -> Value
  ) throws(StoreError) -> Value {
    try load(first, into: &set)
    return try set.run(load: load, body)
  }

  func load(_ keys: StoreKeys, into set: inout WorkingSet) throws(StoreError) {
    try set.begin(keys)
    try loadMessages(keys.messages, into: &set)
    try loadRecords(keys.records, into: &set)
    try loadHolders(keys.holders, into: &set)
    for (key, page) in keys.groups { try loadGroup(key, page, into: &set) }
    try loadCounters(keys.counters.map { (key: $0.key, since: $0.value) }, into: &set)
  }

  // MARK: Parts

  static let messages = """
    SELECT \(InboxColumn.list()), EXISTS (SELECT 1 FROM store_outbox WHERE hold = store_inbox.key)
    FROM store_inbox WHERE key IN (\(marks))
    """

  private func loadMessages(_ keys: [InboxKey], into set: inout WorkingSet) throws(StoreError) {
    var isLegible = true
    try each(keys.map { .blob($0.bytes) }, Self.messages) { row in
      let key = InboxKey(stored: row.blob(InboxColumn.key))
      if let entry = InboxEntry(row) {
        set.load(entry, of: key, holdsMessages: row.bool(InboxColumn.allCases.count))
      } else {
        isLegible = false
      }
    }
    guard isLegible else { throw StoreError(.content, "an inbox entry has an unknown state") }
    for key in keys { set.load(nil, of: key) }
  }

  static let records = "SELECT \(RecordColumn.list()) FROM store_record WHERE id IN (\(marks)) AND kind = ?"

  private func loadRecords(_ ids: [RecordID], into set: inout WorkingSet) throws(StoreError) {
    for (kind, ids) in Dictionary(grouping: ids, by: \.kind) {
      try each(ids.map { .text($0.text) }, Self.records, [.text(kind.name)]) { row in
        if let record = RecordRow(row, kind).record {
          set.load(record)
        } else if let id = RecordID(kind, row.text(RecordColumn.id)) {
          set.load(unreadable: id)
        }
      }
      for id in ids { set.load(absent: id) }
    }
  }

  static let holders = """
    SELECT \(RecordColumn.list("r.")) FROM store_unique u CROSS JOIN store_record r ON r.number = u.record
    WHERE u.key IN (\(marks))
    """

  private func loadHolders(_ keys: [UniqueKey], into set: inout WorkingSet) throws(StoreError) {
    for (kind, keys) in Dictionary(grouping: keys, by: \.space.kind) {
      var unreadable = 0
      try each(keys.map { .blob($0.bytes) }, Self.holders) { row in
        if let record = RecordRow(row, kind).record { set.load(record) } else { unreadable += 1 }
      }
      if unreadable > 0 { try findUnreadable(keys, in: &set) }
      for key in keys { set.load(absentHolderOf: key) }
    }
  }

  static let isHeld = """
    SELECT 1 FROM store_unique u CROSS JOIN store_record r ON r.number = u.record WHERE u.key = ?
    """

  private func findUnreadable(_ keys: [UniqueKey], in set: inout WorkingSet) throws(StoreError) {
    for key in keys where set.holders[key] == nil {
      let isHeld = try session.first(Self.isHeld, [.blob(key.bytes)]) { $0.int(0) } != nil
      if isHeld { set.load(unreadableHolderOf: key) }
    }
  }

  static let group = """
    SELECT \(RecordColumn.list("r.")) FROM store_group g CROSS JOIN store_record r ON r.number = g.record
    WHERE g.key = ? AND g.id > ? ORDER BY g.id LIMIT ?
    """

  private func loadGroup(
    _ key: GroupKey, _ page: StoreKeys.GroupPage, into set: inout WorkingSet
  ) throws(StoreError) {
    let kind = key.space.kind
    let rows = try session.query(
      Self.group, [.blob(key.bytes), .text(page.behind), Value(page.limit)]
    ) { RecordRow($0, kind).record }
    set.load(rows.compactMap { $0 }, of: key, page, isComplete: rows.count < page.limit)
  }

  private static let wanted = """
    WITH wanted (key, since) AS (VALUES \(Array(repeating: "(?, ?)", count: chunk).joined(separator: ", ")))
    SELECT \(CounterColumn.list("c.")) FROM wanted CROSS JOIN store_counter c WHERE c.key = wanted.key AND c.slot >=
    """
  /// Rows of one statement, unless a counter has far more cells than its newest.
  private static let maxCells = chunk * StoreLimits.maxCellsPerCounter
  static let counters = "\(wanted) wanted.since LIMIT \(maxCells)"
  /// Each counter begins at its slot, or at the oldest of its newest cells, whichever is later.
  static let longCounters = """
    \(wanted) max(wanted.since, coalesce(
      (SELECT slot FROM store_counter WHERE key = wanted.key
        ORDER BY slot DESC LIMIT 1 OFFSET \(StoreLimits.maxCellsPerCounter - 1)), wanted.since))
    """

  private func loadCounters(
    _ counters: [(key: CounterKey, since: Int64)], into set: inout WorkingSet
  ) throws(StoreError) {
    var found: [CounterKey: [CounterCell]] = [:]
    var rest = counters[...]
    while !rest.isEmpty {
      var values: [Value] = []
      values.reserveCapacity(2 * Self.chunk)
      for (key, since) in rest.prefix(Self.chunk) {
        values.append(.blob(key.bytes))
        values.append(.integer(since))
      }
      rest = rest.dropFirst(Self.chunk)
      while values.count < 2 * Self.chunk { values.append(.null) }
      for (key, cell) in try cells(values) { found[key, default: []].append(cell) }
    }
    for (key, since) in counters {
      let cells = found[key]?.sorted { $0.slot < $1.slot } ?? []
      let excess = cells.count - StoreLimits.maxCellsPerCounter
      set.load(excess > 0 ? Array(cells.dropFirst(excess)) : cells, of: key, since: since)
    }
  }

  private func cells(_ values: [Value]) throws(StoreError) -> [(CounterKey, CounterCell)] {
    func read(_ row: Row) -> (CounterKey, CounterCell) {
      let cell = CounterCell(slot: Int64(row.int(CounterColumn.slot)), count: Int64(row.int(CounterColumn.count)))
      return (CounterKey(stored: row.blob(CounterColumn.key)), cell)
    }
    let cells = try session.query(Self.counters, values, read)
    return cells.count < Self.maxCells ? cells : try session.query(Self.longCounters, values, read)
  }

  // MARK: Lists

  private static let marks = Array(repeating: "?", count: chunk).joined(separator: ", ")

  private func each(
    _ keys: [Value], _ sql: String, _ others: [Value] = [], _ read: (Row) -> Void
  ) throws(StoreError) {
    var rest = keys[...]
    while !rest.isEmpty {
      var values = Array(rest.prefix(Self.chunk))
      rest = rest.dropFirst(Self.chunk)
      while values.count < Self.chunk { values.append(.null) }
      _ = try session.query(sql, values + others, read)
    }
  }
}
