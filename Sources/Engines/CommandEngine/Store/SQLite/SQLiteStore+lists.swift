import SQLite

// Look-ups for operators and gauges: parts of the store by the beginning of a name, and by content.
extension SQLiteStore {
  static let sums = """
    SELECT key, sum(count) FROM store_counter WHERE key >= ? AND key < ? AND slot >= ?
    GROUP BY key HAVING sum(count) > 0 ORDER BY key LIMIT ?
    """

  public func counters(
    named prefix: [UInt8], since slot: Int64, limit: Int
  ) async throws(StoreError) -> [CounterSum] {
    try StoreError.check(prefix.count, 1...StoreLimits.maxHashBytes, "the beginning of a counter's name")
    try StoreError.check(limit, 1...StoreLimits.maxListedCounters, "a list of counters")
    return try await look { session throws(StoreError) in
      try session.query(
        Self.sums, [.blob(prefix), .blob(KeyRange.end(of: prefix)), .integer(slot), Value(limit)]
      ) { row in CounterSum(key: CounterKey(stored: row.blob(0)), count: Int64(row.int(1))) }
    }
  }

  static let heldKeys = "SELECT count(*) FROM store_unique WHERE key >= ? AND key < ?"
  static let sharedKeys = "SELECT count(*) FROM store_group WHERE key >= ? AND key < ?"

  public func count(_ space: KeySpace) async throws(StoreError) -> Int {
    let range: [Value] = [.blob(space.start), .blob(KeyRange.end(of: space.start))]
    return try await look { session throws(StoreError) in
      var count = 0
      for statement in [Self.heldKeys, Self.sharedKeys] {
        count += try session.first(statement, range) { $0.int(0) } ?? 0
      }
      return count
    }
  }

  static let forgetReplies = "DELETE FROM store_inbox WHERE instr(reply, ?) > 0"

  public func forget(repliesContaining text: [UInt8]) async throws(StoreError) -> Int {
    // Everything contains an empty text.
    guard !text.isEmpty else { return 0 }
    return try await change { session throws(StoreError) in
      try session.execute(Self.forgetReplies, [.blob(text)])
    }
  }
}
