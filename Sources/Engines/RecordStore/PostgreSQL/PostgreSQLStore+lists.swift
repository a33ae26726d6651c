public import CountersignTelemetry
import PostgreSQL

// Look-ups for operators and gauges: parts of the store by the beginning of a name, and by content.
extension PostgreSQLStore {
  static let sums = """
    SELECT key, sum(count)::bigint FROM store_counter WHERE key >= $1 AND key < $2 AND slot >= $3
    GROUP BY key HAVING sum(count) > 0 ORDER BY key LIMIT $4
    """

  public func counters(
    named prefix: [UInt8], since slot: Int64, limit: Int
  ) async throws(StoreError) -> [CounterSum] {
    try StoreError.check(prefix.count, 1...StoreLimits.maxHashBytes, "the beginning of a counter's name")
    try StoreError.check(limit, 1...StoreLimits.maxListedCounters, "a list of counters")
    return try await look { session throws(StoreError) in
      try session.rows(
        Self.sums,
        [.bytes(prefix), .bytes(KeyRange.end(of: prefix)), .integer(slot), .integer(Int64(limit))], maxRows: limit
      ) { row throws(StoreError) in
        CounterSum(key: CounterKey(stored: try row.bytes(0)), count: Int64(try row.int(1)))
      }
    }
  }

  static let countKeys = """
    SELECT (SELECT count(*) FROM store_unique WHERE key >= $1 AND key < $2)
      + (SELECT count(*) FROM store_group WHERE key >= $1 AND key < $2)
    """

  public func count(_ space: KeySpace) async throws(StoreError) -> Int {
    let range: [PostgreSQLValue] = [.bytes(space.start), .bytes(KeyRange.end(of: space.start))]
    return try await look { session throws(StoreError) in
      try session.rows(Self.countKeys, range) { row throws(StoreError) in try row.int(0) }[0]
    }
  }

  /// Entries of the inbox that are searched at once: hundredths of a second, for which other changes wait.
  static let searchedEntries = 1_000
  /// One row with their count and the last key. None behind the last entry.
  static let forgetReplies = """
    WITH page AS MATERIALIZED (
        SELECT key, position($2::bytea IN reply) > 0 AS contains FROM store_inbox WHERE key > $1 ORDER BY key LIMIT $3),
      gone AS (
        DELETE FROM store_inbox WHERE key IN (SELECT key FROM page WHERE contains) AND position($2::bytea IN reply) > 0
        RETURNING key)
    SELECT (SELECT count(*) FROM gone), key FROM page ORDER BY key DESC LIMIT 1
    """

  /// Searches on the writing connection: a server that only reads may lack entries of the one that takes changes.
  public func forget(repliesContaining text: [UInt8]) async throws(StoreError) -> Int {
    // Everything contains an empty text.
    guard !text.isEmpty else { return 0 }
    var (forgotten, last) = (0, [UInt8]())
    while true {
      if Task.isCancelled { throw StoreError(.unavailable, "the search was ended before its end") }
      let values: [PostgreSQLValue] = [.bytes(last), .bytes(text), .integer(Int64(Self.searchedEntries))]
      let page = try await once { session throws(StoreError) in
        try session.rows(Self.forgetReplies, values) { row throws(StoreError) in
          (count: try row.int(0), last: try row.bytes(1))
        }.first
      }
      guard let page else { return forgotten }
      forgotten += page.count
      last = page.last
    }
  }

  public func forgetCounters() async throws(StoreError) -> Int {
    try await change { session throws(StoreError) in
      try session.run([PostgreSQLStatement("DELETE FROM store_counter")])[0].affected
    }
  }
}
