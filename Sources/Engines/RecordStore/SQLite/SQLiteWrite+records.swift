import CountersignTelemetry
import SQLite

extension SQLiteWrite {
  func write(_ changes: [StoreChanges.Change]) throws(StoreError) {
    // Releases keys before taking any, so a key can move between records in one batch.
    for change in changes {
      switch change {
      case .delete(let record):
        try delete(record)
      case .update(let record, let stored) where record.uniqueKeys != stored.uniqueKeys:
        for key in stored.uniqueKeys where !record.uniqueKeys.contains(key) { try free(key) }
      case .update: break
      case .insert: break
      }
    }
    for change in changes {
      if case .update(let record, let stored) = change { try update(record, from: stored) }
    }
    try insert(changes.compactMap { if case .insert(let record) = $0 { record } else { nil } })
  }

  // MARK: Records

  static let insertRecords = BulkInsert(
    "store_record (number, kind, id, version, due, discard, format, keys, body)", columns: 9,
    "ON CONFLICT (id, kind) DO NOTHING")

  private func insert(_ records: [Record]) throws(StoreError) {
    guard let first = records.first else { return }
    let number = try SQLiteSequence.take(records.count, .record, session)
    var next = number
    let rows = try Self.insertRecords.run(records, session) { record, values in
      values.append(Value(next))
      values.append(.text(record.id.kind.name))
      values.append(.text(record.id.text))
      values.append(1)
      values.append(Value(record.dueAt?.milliseconds))
      values.append(Value(record.discardAt?.milliseconds))
      values.append(Value(RecordRow.format))
      values.append(.blob(StoredKeys.bytes(record)))
      values.append(.blob(record.body))
      next += 1
    }
    guard rows == records.count else {
      throw StoreError(.changed(first.id.kind))
    }
    try take(records.enumerated().flatMap { place, record in record.uniqueKeys.map { ($0, number + place) } })
    try join(
      records.enumerated().flatMap { place, record in record.groupKeys.map { ($0, record.id, number + place) } })
  }

  // With RETURNING, SQLite would copy the pages that they change, to undo the statement alone.
  static let updateRecord = """
    UPDATE store_record SET version = version + 1, due = ?, discard = ?, keys = ?, body = ?
    WHERE id = ? AND kind = ? AND version = ? AND format = ?
    """

  /// The body alone: writing a time again would move the record in the index of those that are due.
  static let updateBody = """
    UPDATE store_record SET version = version + 1, body = ?
    WHERE id = ? AND kind = ? AND version = ? AND format = ?
    """
  static let number = "SELECT number FROM store_record WHERE id = ? AND kind = ?"

  private func update(_ record: Record, from stored: Record) throws(StoreError) {
    guard record.isFound(as: stored) else { return try updateAll(record, from: stored) }
    let rows = try session.execute(
      Self.updateBody,
      [
        .blob(record.body), .text(record.id.text), .text(record.id.kind.name), Value(stored.version),
        Value(RecordRow.format),
      ])
    guard rows == 1 else { throw StoreError(.changed(record.id.kind)) }
  }

  private func updateAll(_ record: Record, from stored: Record) throws(StoreError) {
    let rows = try session.execute(
      Self.updateRecord,
      [
        Value(record.dueAt?.milliseconds), Value(record.discardAt?.milliseconds), .blob(StoredKeys.bytes(record)),
        .blob(record.body), .text(record.id.text), .text(record.id.kind.name), Value(stored.version),
        Value(RecordRow.format),
      ])
    guard rows == 1 else { throw StoreError(.changed(record.id.kind)) }
    let unique = record.uniqueKeys.filter { !stored.uniqueKeys.contains($0) }
    let groups = record.groupKeys.filter { !stored.groupKeys.contains($0) }
    if !unique.isEmpty || !groups.isEmpty {
      let number = try session.first(Self.number, [.text(record.id.text), .text(record.id.kind.name)]) { $0.int(0) }
      guard let number else { throw StoreError(.changed(record.id.kind)) }
      try take(unique.map { ($0, number) })
      try join(groups.map { ($0, record.id, number) })
    }
    for key in stored.groupKeys where !record.groupKeys.contains(key) { try leave(key, record.id) }
  }

  static let deleteRecord = "DELETE FROM store_record WHERE id = ? AND kind = ? AND version = ?"

  func delete(_ record: Record) throws(StoreError) {
    let rows = try session.execute(
      Self.deleteRecord, [.text(record.id.text), .text(record.id.kind.name), Value(record.version)])
    guard rows == 1 else { throw StoreError(.changed(record.id.kind)) }
    for key in record.uniqueKeys { try free(key) }
    for key in record.groupKeys { try leave(key, record.id) }
  }

  // MARK: Keys

  static let takeKeys = BulkInsert("store_unique (key, record)", columns: 2, "ON CONFLICT (key) DO NOTHING")
  static let holder = "SELECT record FROM store_unique WHERE key = ?"
  /// A key of a record that was deleted unread leads nowhere, and is taken over.
  static let takeOver = """
    UPDATE store_unique SET record = ?
    WHERE key = ? AND NOT EXISTS (SELECT 1 FROM store_record WHERE number = store_unique.record)
    """

  private func take(_ keys: [(key: UniqueKey, number: Int)]) throws(StoreError) {
    let taken = try Self.takeKeys.run(keys, session) { key, values in
      values.append(.blob(key.key.bytes))
      values.append(Value(key.number))
    }
    guard taken < keys.count else { return }
    for (key, number) in keys where try holder(of: key) != number {
      let rows = try session.execute(Self.takeOver, [Value(number), .blob(key.bytes)])
      guard rows == 1 else { throw StoreError(.taken(key.space)) }
    }
  }

  private func holder(of key: UniqueKey) throws(StoreError) -> Int? {
    try session.first(Self.holder, [.blob(key.bytes)]) { $0.int(0) }
  }

  static let freeKey = "DELETE FROM store_unique WHERE key = ?"

  private func free(_ key: UniqueKey) throws(StoreError) {
    try session.execute(Self.freeKey, [.blob(key.bytes)])
  }

  static let joinGroups = BulkInsert(
    "store_group (key, id, record)", columns: 3, "ON CONFLICT (key, id) DO NOTHING")
  /// A record that was deleted unread has left its place in the group.
  static let rejoinGroup = "UPDATE store_group SET record = ? WHERE key = ? AND id = ?"

  private func join(_ members: [(key: GroupKey, id: RecordID, number: Int)]) throws(StoreError) {
    let joined = try Self.joinGroups.run(members, session) { member, values in
      values.append(.blob(member.key.bytes))
      values.append(.text(member.id.text))
      values.append(Value(member.number))
    }
    guard joined < members.count else { return }
    for member in members {
      try session.execute(
        Self.rejoinGroup, [Value(member.number), .blob(member.key.bytes), .text(member.id.text)])
    }
  }

  static let leaveGroup = "DELETE FROM store_group WHERE key = ? AND id = ?"

  private func leave(_ key: GroupKey, _ id: RecordID) throws(StoreError) {
    try session.execute(Self.leaveGroup, [.blob(key.bytes), .text(id.text)])
  }
}

extension Record {
  fileprivate func isFound(as stored: Record) -> Bool {
    dueAt == stored.dueAt && discardAt == stored.discardAt && uniqueKeys == stored.uniqueKeys
      && groupKeys == stored.groupKeys
  }
}
