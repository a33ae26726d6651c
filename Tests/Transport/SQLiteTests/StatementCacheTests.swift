import Testing

@testable import SQLite

@Suite struct StatementCacheTests {
  /// More different statements than are kept, again and again: each works, and memory stays bounded by the limit.
  @Test func `The cache is bounded`() async throws {
    var options = DatabaseOptions()
    options.maxStatements = 8
    try await withNotes(options) { database, _ in
      for _ in 0..<3 {
        let sum = try await database.read { session throws(StoreError) in
          var sum = 0
          for number in 0..<50 {
            sum += try session.first("SELECT \(number)") { $0.int(0) } ?? 0
          }
          return sum + session.connection.cachedStatements * 10_000
        }
        #expect(sum == 1225 + 8 * 10_000)
      }
    }
  }
}
