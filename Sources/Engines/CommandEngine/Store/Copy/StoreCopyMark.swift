import CountersignTelemetry

/// Record of a store that is being copied into: whoever finds it must not use the store, which holds a part only.
public enum StoreCopyMark {
  private static let kind = RecordKind("copyUnderWay")
  private static let name = "copy"

  private static func load() throws(StoreError) -> (load: StoreLoad, id: RecordID) {
    guard let id = RecordID(kind, name) else { throw StoreError(.misuse, "the mark of a copy has no ID") }
    var keys = StoreKeys()
    keys.add(record: id)
    return (StoreLoad(keys), id)
  }

  /// Whether a copy has begun and not ended.
  /// - Throws: ``StoreError``.
  public static func isSet(in store: any Store) async throws(StoreError) -> Bool {
    let (load, id) = try load()
    return try await store.read(load, at: UnixTime(milliseconds: 0)).record(id) != nil
  }

  static func set(_ isSet: Bool, in store: any Store) async throws(StoreError) {
    let (load, id) = try load()
    let outcome = try await store.transact(load, at: UnixTime(milliseconds: 0)) { set throws(StoreError) -> Void in
      if isSet {
        if try set.record(id) == nil { try set.put(Record(id, body: [])) }
      } else {
        try set.remove(id)
      }
    }
    if case .conflict(let conflict) = outcome { throw StoreError(.conflict, conflict.description) }
  }
}
