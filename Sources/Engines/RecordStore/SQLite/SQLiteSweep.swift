public import CountersignTelemetry
import SQLite

extension SQLiteStore {
  public func sweep<Result: Sendable>(
    _ claim: DueClaim, at now: UnixTime,
    _ body: @escaping @Sendable ([Record], inout WorkingSet) throws(StoreError) -> Result
  ) async throws(StoreError) -> StoreOutcome<Swept<Result>> {
    try StoreError.check(claim.limit, 1...StoreLimits.maxDueRecords, "a claim of records")
    let own = owners.own
    return try await transaction { session throws(StoreError) in
      let due = SQLiteDue(session: session, claim: claim, now: now)
      let claimed = try due.take()
      var set = WorkingSet(at: now)
      for record in claimed.records { set.load(record) }
      let result = try SQLiteLoad(session: session).run(StoreKeys(), into: &set) { set throws(StoreError) in
        try body(claimed.records, &set)
      }
      let untouched = try set.putOff(claimed.records, by: claim.pause)
      _ = try SQLiteWrite(session: session, owner: own, now: now).write(set.changes, forClaims: true)
      let swept = Swept(
        result: result, rows: claimed.records.count + claimed.unreadable, unreadable: claimed.unreadable,
        untouched: untouched)
      return (swept, [])
    }
  }

  public func purge(_ part: StorePart, limit: Int, at now: UnixTime) async throws(StoreError) -> Int {
    try StoreError.check(limit, 1...StoreLimits.maxPurgedRows, "a purge")
    // Usually there is nothing, and a look costs no commit.
    let isAnything = try await look { session throws(StoreError) in
      try SQLitePurge(session: session, now: now).isAnythingOver(part)
    }
    guard isAnything else { return 0 }
    return try await change { session throws(StoreError) in
      try SQLitePurge(session: session, now: now).purge(part, limit)
    }
  }
}

extension WorkingSet {
  /// Puts off the claimed records that a body left as they were: they would be due again at once.
  mutating func putOff(_ claimed: [Record], by pause: Duration) throws(StoreError) -> Int {
    var untouched = 0
    for record in claimed where records[record.id]?.current == record {
      var record = record
      record.dueAt = now + pause
      try put(record)
      untouched += 1
    }
    return untouched
  }
}

struct SQLiteDue {
  let session: Session
  let claim: DueClaim
  let now: UnixTime

  static let statement = """
    SELECT \(RecordColumn.list()) FROM store_record WHERE kind = ? AND due IS NOT NULL AND due <= ?
    ORDER BY due LIMIT ?
    """
  static let putOff = "UPDATE store_record SET due = ? WHERE number = ?"
  static let delete = "DELETE FROM store_record WHERE number = ?"
  static let freeKeys = "DELETE FROM store_unique WHERE record = ?"

  func take() throws(StoreError) -> (records: [Record], unreadable: Int) {
    let rows = try session.query(
      Self.statement, [.text(claim.kind.name), .integer(now.milliseconds), Value(claim.limit)]
    ) { RecordRow($0, claim.kind) }
    var unreadable = 0
    for row in rows where row.record == nil {
      try stepAround(row)
      unreadable += 1
    }
    return (rows.compactMap(\.record), unreadable)
  }

  private func stepAround(_ row: RecordRow) throws(StoreError) {
    if let discardAt = row.discardAt, discardAt <= now {
      try session.execute(Self.delete, [Value(row.number)])
    } else {
      try session.execute(Self.putOff, [.integer((now + claim.pause).milliseconds), Value(row.number)])
      // They must not keep new records out. No index leads to them, but this is rare.
      try session.execute(Self.freeKeys, [Value(row.number)])
    }
  }
}

struct SQLitePurge {
  let session: Session
  let now: UnixTime

  static let messages = """
    DELETE FROM store_inbox WHERE number IN (SELECT number FROM store_inbox WHERE keep <= ? ORDER BY keep LIMIT ?)
    """
  static let counters = """
    DELETE FROM store_counter WHERE (key, slot) IN (
      SELECT key, slot FROM store_counter WHERE keep <= ? ORDER BY keep LIMIT ?)
    """
  static let records = """
    SELECT \(RecordColumn.list()) FROM store_record WHERE due IS NULL AND discard IS NOT NULL AND discard <= ?
    ORDER BY discard LIMIT ?
    """
  static let isOver: [StorePart: String] = [
    .inbox: "SELECT 1 FROM store_inbox WHERE keep <= ? LIMIT 1",
    .counters: "SELECT 1 FROM store_counter WHERE keep <= ? LIMIT 1",
    .records: """
    SELECT 1 FROM store_record WHERE due IS NULL AND discard IS NOT NULL AND discard <= ? LIMIT 1
    """,
  ]

  func isAnythingOver(_ part: StorePart) throws(StoreError) -> Bool {
    guard let statement = Self.isOver[part] else { return true }
    return try session.first(statement, [.integer(now.milliseconds)]) { $0.int(0) } != nil
  }

  func purge(_ part: StorePart, _ limit: Int) throws(StoreError) -> Int {
    let values: [Value] = [.integer(now.milliseconds), Value(limit)]
    switch part {
    case .inbox: return try session.execute(Self.messages, values)
    case .counters: return try session.execute(Self.counters, values)
    case .records: return try purgeRecords(values)
    }
  }

  private func purgeRecords(_ values: [Value]) throws(StoreError) -> Int {
    let rows = try session.query(Self.records, values) { row in
      RecordRow(row, RecordKind(stored: row.text(RecordColumn.kind)))
    }
    let write = SQLiteWrite(session: session, owner: 0, now: now)
    for row in rows {
      if let record = row.record {
        try write.delete(record)
      } else {
        try session.execute(SQLiteDue.delete, [Value(row.number)])
      }
    }
    return rows.count
  }
}
