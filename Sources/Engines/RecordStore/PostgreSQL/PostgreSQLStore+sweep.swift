public import CountersignTelemetry
import PostgreSQL

extension PostgreSQLStore {
  public func sweep<Result: Sendable>(
    _ claim: DueClaim, at now: UnixTime,
    _ body: @escaping @Sendable ([Record], inout WorkingSet) throws(StoreError) -> Result
  ) async throws(StoreError) -> StoreOutcome<Swept<Result>> {
    try StoreError.check(claim.limit, 1...StoreLimits.maxDueRecords, "a claim of records")
    let owner = owner
    return try await repeating { session, _ throws(StoreError) in
      let rows = try session.rows(
        PostgreSQLDue.claim,
        [.text(claim.kind.name), .integer(now.milliseconds), .integer(Int64(claim.limit))]
      ) { row throws(StoreError) in try RecordRowPostgreSQL(row) }
      let (records, unreadable) = (rows.compactMap(\.record), rows.filter { $0.record == nil })
      var set = WorkingSet(at: now)
      for record in records { set.load(record) }
      let result = try PostgreSQLLoad(session: session).run(StoreKeys(), into: &set) { set throws(StoreError) in
        try body(records, &set)
      }
      let untouched = try set.putOff(records, by: claim.pause)
      var write = PostgreSQLWrite(owner: owner.current.number, at: now, isForClaims: true)
      write.add(set.changes)
      PostgreSQLDue.stepAround(unreadable, until: now + claim.pause, at: now, in: &write)
      _ = try write.run(session)
      let swept = Swept(
        result: result, rows: rows.count, unreadable: unreadable.count, untouched: untouched)
      return (swept, [])
    }
  }

  public func purge(_ part: StorePart, limit: Int, at now: UnixTime) async throws(StoreError) -> Int {
    try StoreError.check(limit, 1...StoreLimits.maxPurgedRows, "a purge")
    let values: [PostgreSQLValue] = [.integer(now.milliseconds), .integer(Int64(limit))]
    switch part {
    case .inbox: return try await delete(PostgreSQLDue.purgeMessages, values)
    case .counters: return try await delete(PostgreSQLDue.purgeCounters, values)
    case .records: return try await purgeRecords(values, at: now)
    }
  }

  /// Runs one statement, whose commit comes with it.
  private func delete(_ sql: String, _ values: [PostgreSQLValue]) async throws(StoreError) -> Int {
    try await once { session throws(StoreError) in
      try session.run([PostgreSQLStatement(sql, values)])[0].affected
    }
  }

  private func purgeRecords(_ values: [PostgreSQLValue], at now: UnixTime) async throws(StoreError) -> Int {
    // Usually there is nothing, and a look costs no commit.
    let isAnything = try await look { session throws(StoreError) in
      try !session.run([PostgreSQLStatement(PostgreSQLDue.isAnyRecordOver, [values[0]])])[0].isEmpty
    }
    guard isAnything else { return 0 }
    return try await change { session throws(StoreError) in
      let rows = try session.rows(PostgreSQLDue.recordsOver, values) { row throws(StoreError) in
        try RecordRowPostgreSQL(row)
      }
      var set = WorkingSet(at: now)
      for record in rows.compactMap(\.record) {
        set.load(record)
        try set.remove(record.id)
      }
      var write = PostgreSQLWrite(owner: 0, at: now)
      write.add(set.changes)
      PostgreSQLDue.stepAround(rows.filter { $0.record == nil }, until: now, at: now, in: &write)
      _ = try write.run(session)
      return rows.count
    }
  }
}

/// Rows whose time has come. What another store works on is left to it.
enum PostgreSQLDue {
  static let claim = """
    SELECT \(RecordRowPostgreSQL.list()) FROM store_record WHERE kind = $1 AND due <= $2
    ORDER BY due LIMIT $3 FOR UPDATE SKIP LOCKED
    """
  static let purgeMessages = """
    WITH gone AS MATERIALIZED (
      SELECT key FROM store_inbox WHERE keep <= $1 ORDER BY keep LIMIT $2 FOR UPDATE SKIP LOCKED)
    DELETE FROM store_inbox i USING gone WHERE i.key = gone.key
    """
  static let purgeCounters = """
    WITH gone AS MATERIALIZED (
      SELECT key, slot FROM store_counter WHERE keep <= $1 ORDER BY keep LIMIT $2 FOR UPDATE SKIP LOCKED)
    DELETE FROM store_counter c USING gone WHERE c.key = gone.key AND c.slot = gone.slot
    """
  static let isAnyRecordOver = "SELECT FROM store_record WHERE due IS NULL AND discard <= $1 LIMIT 1"
  static let recordsOver = """
    SELECT \(RecordRowPostgreSQL.list()) FROM store_record WHERE due IS NULL AND discard <= $1
    ORDER BY discard LIMIT $2 FOR UPDATE SKIP LOCKED
    """

  // MARK: Unreadable rows

  static let putOff = """
    UPDATE store_record r SET due = $3::bigint FROM unnest($1::text[], $2::text[]) AS k (id, kind)
    WHERE r.id = k.id AND r.kind = k.kind
    """
  static let delete = """
    DELETE FROM store_record r USING unnest($1::text[], $2::text[]) AS k (id, kind)
    WHERE r.id = k.id AND r.kind = k.kind
    """
  /// The format of such rows does not tell their keys, which are looked for among those of the kind. This is rare.
  static let freeKeys = "DELETE FROM store_unique WHERE key >= $1 AND key < $2 AND id = ANY ($3::text[])"
  static let leaveGroups = "DELETE FROM store_group WHERE key >= $1 AND key < $2 AND id = ANY ($3::text[])"

  /// Deletes those that are over, and puts the others off: in either case they keep no new records out.
  static func stepAround(
    _ rows: [RecordRowPostgreSQL], until time: UnixTime, at now: UnixTime, in write: inout PostgreSQLWrite
  ) {
    let over = rows.filter { $0.discardAt.map { $0 <= now } ?? false }
    let rest = rows.filter { $0.discardAt.map { $0 > now } ?? true }
    if !over.isEmpty { write.add(delete, [.texts(over.map(\.id)), .texts(over.map(\.kind.name))]) }
    if !rest.isEmpty {
      write.add(
        putOff, [.texts(rest.map(\.id)), .texts(rest.map(\.kind.name)), .integer(time.milliseconds)])
    }
    for (kind, rows) in Dictionary(grouping: rows, by: \.kind) {
      let start = kind.keyStart
      let range: [PostgreSQLValue] = [.bytes(start), .bytes(KeyRange.end(of: start))]
      write.add(freeKeys, range + [.texts(rows.map(\.id))])
      let gone = rows.filter { $0.discardAt.map { $0 <= now } ?? false }
      if !gone.isEmpty { write.add(leaveGroups, range + [.texts(gone.map(\.id))]) }
    }
  }
}
