public import CountersignTelemetry

extension WorkingSet {
  // MARK: Look-ups

  /// A record, with the changes of this set. `nil` when there is none.
  /// - Throws: ``StoreError/Code/notLoaded``; ``StoreError/Code/content`` for one that this version cannot read.
  public func record(_ id: RecordID) throws(StoreError) -> Record? {
    if unreadable.contains(id) { throw Self.unreadable(id.kind) }
    guard let slot = records[id] else { throw miss("a record of the kind \(id)") { $0.add(record: id) } }
    return slot.current
  }

  /// The record that holds a unique key, with the changes of this set. `nil` when there is none.
  /// - Throws: ``StoreError/Code/notLoaded``; ``StoreError/Code/content`` for one that this version cannot read.
  public func holder(of key: UniqueKey) throws(StoreError) -> Record? {
    if unreadableHolders.contains(key) { throw Self.unreadable(key.space.kind) }
    switch holders[key] {
    case nil: throw miss("the holder of \(key)") { $0.add(holderOf: key) }
    case .nobody: return nil
    case .record(let id): return records[id]?.current
    }
  }

  /// A page of a group, ordered by the bytes of the IDs, with the changes of this set. Records that this version
  /// cannot read are not among them.
  /// - Returns: the records, and whether the group ends with them.
  /// - Throws: ``StoreError/Code/notLoaded``; ``StoreError/Code/misuse`` when another page of it was loaded.
  public func group(
    _ key: GroupKey, _ page: StoreKeys.GroupPage = StoreKeys.GroupPage()
  ) throws(StoreError) -> (records: [Record], isComplete: Bool) {
    guard let slot = groups[key] else { throw miss("the group \(key)") { $0.add(group: key, page) } }
    guard slot.page == page else { throw StoreError(.misuse, "two pages of the group \(key) are looked up") }
    let members = slot.members.compactMap { records[$0]?.current }.filter { $0.groupKeys.contains(key) }
    return (members.sorted { $0.id.text.utf8.lexicographicallyPrecedes($1.id.text.utf8) }, slot.isComplete)
  }

  // MARK: Changes

  /// Adds a new record, or changes a loaded one.
  /// - Parameter record: a record made new, or one that this set returned.
  /// - Throws: ``StoreError/Code/taken`` when another record of this set holds one of its unique keys;
  ///   ``StoreError/Code/tooLarge``; ``StoreError/Code/notLoaded`` for a record that this set has not loaded;
  ///   ``StoreError/Code/misuse`` for one of another version than the loaded one.
  public mutating func put(_ record: Record) throws(StoreError) {
    try record.check()
    if unreadable.contains(record.id) { throw Self.unreadable(record.id.kind) }
    let known = records[record.id]
    var record = record
    if let known {
      // One that was removed in this set is replaced.
      if known.current == nil, record.version == 0 { record.version = known.stored?.version ?? 0 }
      // A new record may also follow a look that found none.
      guard record.version == (known.current ?? known.stored)?.version ?? 0 else {
        throw StoreError(.misuse, "a record of the kind \(record.id) is not the one that was loaded")
      }
    } else if record.version != 0 {
      throw miss("a record of the kind \(record.id)") { $0.add(record: record.id) }
    }
    for key in record.uniqueKeys {
      if case .record(let holder) = holders[key], holder != record.id {
        throw StoreError(.taken, "another record holds the key \(key)")
      }
    }
    change(record.id, known, to: record)
  }

  /// Deletes a loaded record, and gives its keys free.
  /// - Throws: ``StoreError/Code/notLoaded``.
  public mutating func remove(_ id: RecordID) throws(StoreError) {
    if unreadable.contains(id) { throw Self.unreadable(id.kind) }
    guard let known = records[id] else { throw miss("a record of the kind \(id)") { $0.add(record: id) } }
    guard known.current != nil else { return }
    change(id, known, to: nil)
  }

  private mutating func change(_ id: RecordID, _ known: RecordSlot?, to record: Record?) {
    var slot = known ?? RecordSlot()
    changeCount += 1
    journal.note(.record(id, known), isFirst: !slot.isChanged)
    if !slot.isChanged { changedRecords.append(id) }
    let (before, after) = (slot.current?.uniqueKeys ?? [], record?.uniqueKeys ?? [])
    if before != after {
      for key in before where !after.contains(key) { set(.nobody, key) }
      for key in after { set(.record(id), key) }
    }
    for key in record?.groupKeys ?? [] { join(key, id) }
    slot.current = record
    slot.isChanged = true
    records[id] = slot
  }

  private mutating func set(_ holder: Holder, _ key: UniqueKey) {
    journal.note(.holder(key, holders[key]))
    holders[key] = holder
  }

  /// Adds a member to a loaded group. One that has left it is filtered out by ``group(_:_:)``.
  private mutating func join(_ key: GroupKey, _ id: RecordID) {
    guard let slot = groups[key], !slot.members.contains(id) else { return }
    journal.note(.group(key, slot))
    groups[key]?.members.append(id)
  }
}
