import Testing

@testable import PostgreSQL

@Suite("Cache of prepared statements")
struct PreparedStatementsTests {
  @Test("A text is prepared once")
  func once() {
    var statements = PreparedStatements(limit: 8)
    let first = statements.plan("SELECT $1", [.int8])
    #expect(first.types == [.int8])
    #expect(statements.plan("SELECT $1", [.int8]) == PreparedStatements.Plan(name: first.name, types: nil))
  }

  @Test("NULL fits every type; a type that was NULL is learned, and those known are kept")
  func types() {
    var statements = PreparedStatements(limit: 8)
    let first = statements.plan("SELECT", [.unspecified, .text])
    #expect(statements.plan("SELECT", [.unspecified, .unspecified]).types == nil)
    let second = statements.plan("SELECT", [.int8, .unspecified])
    #expect(second.types == [.int8, .text])
    #expect(second.name != first.name)
    #expect(statements.takeDiscarded() == [first.name])
    #expect(statements.plan("SELECT", [.unspecified, .text]).types == nil)
  }

  @Test("The one unused for longest makes room, and the server is told")
  func bound() {
    var statements = PreparedStatements(limit: 8)
    let plans = (0..<8).map { statements.plan("SELECT \($0)", []) }
    _ = statements.plan("SELECT 0", [])
    _ = statements.plan("SELECT 8", [])
    #expect(statements.count == 8)
    #expect(statements.takeDiscarded() == [plans[1].name])
    #expect(statements.plan("SELECT 0", []).types == nil)
  }

  @Test("A name is never used again")
  func names() {
    var statements = PreparedStatements(limit: 8)
    let first = statements.plan("SELECT", [])
    statements.remove(first.name)
    #expect(statements.plan("SELECT", []).name != first.name)
  }
}
