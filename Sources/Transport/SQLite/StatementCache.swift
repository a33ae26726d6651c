/// Prepared statements by the text of their SQL, the one unused for longest making room for the next.
struct StatementCache {
  private let limit: Int
  private var statements: [String: Statement] = [:]
  private var uses: UInt64 = 0

  init(limit: Int) {
    self.limit = limit
  }

  var count: Int { statements.count }

  mutating func take(_ sql: String) -> Statement? {
    guard let statement = statements[sql], !statement.isInUse else { return nil }
    uses += 1
    statement.lastUse = uses
    statement.isInUse = true
    return statement
  }

  /// Keeps a new statement, unless one of the same SQL is in use further out.
  mutating func keep(_ statement: Statement, for sql: String) {
    guard statements[sql] == nil else { return }
    if statements.count >= limit { evict() }
    uses += 1
    statement.lastUse = uses
    statements[sql] = statement
  }

  mutating func removeAll() {
    statements.removeAll()
  }

  private mutating func evict() {
    // All may be in use when bodies nest deeply: the new statement is then one too many for a while.
    let idle = statements.lazy.filter { !$0.value.isInUse }
    guard let oldest = idle.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return }
    statements[oldest.key] = nil
  }
}
