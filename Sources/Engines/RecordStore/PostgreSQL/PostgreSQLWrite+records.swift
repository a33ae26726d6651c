import PostgreSQL

// MARK: - Records

extension PostgreSQLWrite {
  /// Of several records: locks those that are there, in the order of every writer.
  static let lockRecords = """
    SELECT FROM unnest($1::text[], $2::text[]) AS k (id, kind)
    JOIN store_record r ON r.id = k.id AND r.kind = k.kind ORDER BY r.id, r.kind FOR UPDATE OF r
    """
  static let deleteRecords = """
    DELETE FROM store_record r USING unnest($1::text[], $2::text[], $3::bigint[]) AS k (id, kind, version)
    WHERE r.id = k.id AND r.kind = k.kind AND r.version = k.version
    """
  static let updateRecords = """
    UPDATE store_record r SET version = r.version + 1, due = k.due, discard = k.discard, keys = k.keys, body = k.body
    FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[], $7::bytea[])
      AS k (id, kind, version, due, discard, keys, body)
    WHERE r.id = k.id AND r.kind = k.kind AND r.version = k.version AND r.format = \(RecordRow.format)
    """
  static let insertRecords = """
    INSERT INTO store_record (id, kind, version, due, discard, format, keys, body)
    SELECT k.id, k.kind, 1, k.due, k.discard, \(RecordRow.format), k.keys, k.body
    FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[])
      AS k (id, kind, due, discard, keys, body)
    ON CONFLICT (id, kind) DO NOTHING
    """

  mutating func add(_ changes: [StoreChanges.Change]) {
    var keys = KeyChanges()
    var deleted: [Record] = []
    var updated: [(record: Record, from: Record)] = []
    var inserted: [Record] = []
    for change in changes {
      switch change {
      case .delete(let record): deleted.append(record)
      case .update(let record, let stored): updated.append((record, stored))
      case .insert(let record): inserted.append(record)
      }
      keys.add(change)
    }
    deleted.sort { RecordID.precedes($0.id, $1.id) }
    updated.sort { RecordID.precedes($0.record.id, $1.record.id) }
    inserted.sort { RecordID.precedes($0.id, $1.id) }
    lock(deleted.map(\.id) + updated.map(\.record.id))
    add(deleted: deleted)
    add(updated: updated)
    add(inserted: inserted)
    add(keys)
  }

  private mutating func lock(_ ids: [RecordID]) {
    guard ids.count > 1 else { return }
    let ids = ids.sorted(by: RecordID.precedes)
    add(Self.lockRecords, [.texts(ids.map(\.text)), .texts(ids.map(\.kind.name))])
  }

  private mutating func add(deleted records: [Record]) {
    guard let first = records.first else { return }
    add(
      Self.deleteRecords,
      [
        .texts(records.map(\.id.text)), .texts(records.map(\.id.kind.name)),
        .integers(records.map { Int64($0.version) }),
      ], changing: records.count, else: .changed(first.id.kind))
  }

  private mutating func add(updated records: [(record: Record, from: Record)]) {
    guard let first = records.first else { return }
    add(
      Self.updateRecords,
      [
        .texts(records.map(\.record.id.text)), .texts(records.map(\.record.id.kind.name)),
        .integers(records.map { Int64($0.from.version) }), .times(records.map(\.record.dueAt)),
        .times(records.map(\.record.discardAt)), .byteArrays(records.map { StoredKeys.bytes($0.record) }),
        .byteArrays(records.map(\.record.body)),
      ], changing: records.count, else: .changed(first.record.id.kind))
  }

  private mutating func add(inserted records: [Record]) {
    guard let first = records.first else { return }
    add(
      Self.insertRecords,
      [
        .texts(records.map(\.id.text)), .texts(records.map(\.id.kind.name)), .times(records.map(\.dueAt)),
        .times(records.map(\.discardAt)), .byteArrays(records.map { StoredKeys.bytes($0) }),
        .byteArrays(records.map(\.body)),
      ], changing: records.count, else: .changed(first.id.kind))
  }
}

// MARK: - Keys

extension PostgreSQLWrite {
  static let freeKeys = """
    DELETE FROM store_unique u USING unnest($1::bytea[], $2::text[]) AS k (key, id)
    WHERE u.key = k.key AND u.id = k.id
    """
  static let takeKeys = """
    INSERT INTO store_unique (key, id) SELECT * FROM unnest($1::bytea[], $2::text[])
    ON CONFLICT (key) DO NOTHING RETURNING key
    """
  static let leaveGroups = """
    DELETE FROM store_group g USING unnest($1::bytea[], $2::text[]) AS k (key, id)
    WHERE g.key = k.key AND g.id = k.id
    """
  static let joinGroups = """
    INSERT INTO store_group (key, id) SELECT * FROM unnest($1::bytea[], $2::text[]) ON CONFLICT (key, id) DO NOTHING
    """

  private struct KeyChanges {
    var freed: [(key: UniqueKey, id: String)] = []
    var taken: [(key: UniqueKey, id: String)] = []
    var left: [(key: GroupKey, id: String)] = []
    var joined: [(key: GroupKey, id: String)] = []

    mutating func add(_ change: StoreChanges.Change) {
      switch change {
      case .delete(let record): add(record.id.text, from: record, to: nil)
      case .insert(let record): add(record.id.text, from: nil, to: record)
      case .update(let record, let stored): add(record.id.text, from: stored, to: record)
      }
    }

    private mutating func add(_ id: String, from old: Record?, to new: Record?) {
      let (before, after) = (old?.uniqueKeys ?? [], new?.uniqueKeys ?? [])
      freed += before.filter { !after.contains($0) }.map { ($0, id) }
      // A record may name a key twice.
      taken += Set(after).subtracting(before).map { ($0, id) }
      let (ago, since) = (old?.groupKeys ?? [], new?.groupKeys ?? [])
      left += ago.filter { !since.contains($0) }.map { ($0, id) }
      joined += since.filter { !ago.contains($0) }.map { ($0, id) }
    }
  }

  /// Releases keys before taking any, so a key can move between records in one batch.
  private mutating func add(_ keys: KeyChanges) {
    add(Self.freeKeys, keys.freed.map { ($0.key.bytes, $0.id) })
    add(Self.leaveGroups, keys.left.map { ($0.key.bytes, $0.id) })
    add(Self.joinGroups, keys.joined.map { ($0.key.bytes, $0.id) })
    guard !keys.taken.isEmpty else { return }
    let taken = keys.taken.sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }
    add(Self.takeKeys, [.byteArrays(taken.map(\.key.bytes)), .texts(taken.map(\.id))]) {
      rows throws(StoreError) in
      guard rows.count < taken.count else { return nil }
      var free: Set<[UInt8]> = []
      for row in rows { free.insert(try row.bytes(0)) }
      return taken.first { !free.contains($0.key.bytes) }.map { .taken($0.key.space) }
    }
  }

  private mutating func add(_ sql: String, _ keys: [(bytes: [UInt8], id: String)]) {
    guard !keys.isEmpty else { return }
    let keys = keys.sorted { left, right in
      left.bytes == right.bytes ? left.id < right.id : left.bytes.lexicographicallyPrecedes(right.bytes)
    }
    add(sql, [.byteArrays(keys.map(\.bytes)), .texts(keys.map(\.id))])
  }
}
