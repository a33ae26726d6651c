import PostgreSQL

/// The tables of a store in PostgreSQL as a whole: for a copy into them.
public struct PostgreSQLArchive: Sendable {
  private let store: PostgreSQLStore

  public init(_ store: PostgreSQLStore) {
    self.store = store
  }

  static let counting = """
    SELECT (SELECT count(*) FROM store_record),
      (SELECT count(*) FROM store_unique) + (SELECT count(*) FROM store_group),
      (SELECT count(*) FROM store_inbox), (SELECT count(*) FROM store_counter),
      (SELECT coalesce(sum(count), 0)::bigint FROM store_counter), (SELECT count(*) FROM store_outbox)
    """

  /// Counts all rows, a copy's mark excepted.
  /// - Throws: ``StoreError``.
  public func counts() async throws(StoreError) -> StoreCounts {
    let counts = try await store.change { session throws(PostgreSQLFailure) in
      try session.rows(Self.counting, []) { row throws(PostgreSQLError) in
        var counts = StoreCounts()
        counts.records = try row.int(0)
        counts.keys = try row.int(1)
        counts.inbox = try row.int(2)
        counts.cells = try row.int(3)
        counts.events = Int64(try row.int(4))
        counts.messages = try row.int(5)
        return counts
      }
    }
    guard var found = counts.first else { throw StoreError(.statement, "a count of rows gives no row") }
    if try await StoreCopyMark.isSet(in: store) { found.records -= 1 }
    return found
  }

  /// Deletes everything, a copy's mark included.
  /// - Throws: ``StoreError``; nothing is deleted then.
  public func clear() async throws(StoreError) {
    try await store.change { session throws(PostgreSQLFailure) in
      try session.all(
        ["store_record", "store_unique", "store_group", "store_inbox", "store_counter", "store_outbox"].map {
          PostgreSQLStatement("DELETE FROM \($0)", isPrepared: false)
        })
    }
  }
}
