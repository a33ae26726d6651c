/// Names of the statements that the server keeps prepared for one connection, by the text of their SQL. The one unused
/// for longest makes room for the next.
struct PreparedStatements {
  struct Plan: Equatable {
    let name: String
    /// Nil if it is prepared.
    let types: [ServerType]?
  }

  private struct Entry {
    let name: String
    let types: [ServerType]
    var lastUse: UInt64
  }

  private let limit: Int
  private var entries: [String: Entry] = [:]
  private var uses: UInt64 = 0
  private var names: UInt64 = 0
  /// Names that the server still has and that have no statement here.
  private(set) var discarded: [String] = []

  init(limit: Int) {
    self.limit = limit
  }

  var count: Int { entries.count }

  mutating func plan(_ sql: String, _ types: [ServerType]) -> Plan {
    uses += 1
    if let entry = entries[sql] {
      if Self.fits(types, entry.types) {
        entries[sql]?.lastUse = uses
        return Plan(name: entry.name, types: nil)
      }
      discarded.append(entry.name)
      return add(sql, Self.merged(types, entry.types))
    }
    if entries.count >= limit { evict() }
    return add(sql, types)
  }

  /// A statement could not be prepared after all.
  mutating func remove(_ name: String) {
    guard let sql = entries.first(where: { $0.value.name == name })?.key else { return }
    entries[sql] = nil
  }

  mutating func discardAll() {
    discarded += entries.values.map(\.name)
    entries = [:]
  }

  /// The server has no longer any of the statements.
  mutating func forgetAll() {
    entries = [:]
    discarded = []
  }

  mutating func takeDiscarded() -> [String] {
    defer { discarded = [] }
    return discarded
  }

  /// The server has not forgotten a name after all.
  mutating func putBack(_ name: String) {
    discarded.append(name)
  }

  private mutating func add(_ sql: String, _ types: [ServerType]) -> Plan {
    names += 1
    let name = "s\(names)"
    entries[sql] = Entry(name: name, types: types, lastUse: uses)
    return Plan(name: name, types: types)
  }

  private mutating func evict() {
    guard let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return }
    discarded.append(oldest.value.name)
    entries[oldest.key] = nil
  }

  private static func fits(_ types: [ServerType], _ prepared: [ServerType]) -> Bool {
    types.count == prepared.count && zip(types, prepared).allSatisfy { $0 == .unspecified || $0 == $1 }
  }

  private static func merged(_ types: [ServerType], _ prepared: [ServerType]) -> [ServerType] {
    guard types.count == prepared.count else { return types }
    return zip(types, prepared).map { $0 == .unspecified ? $1 : $0 }
  }
}
