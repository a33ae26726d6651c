import Testing

@testable import PostgreSQL

@Suite struct PreparedStatementsTests {
  @Test func `A text is prepared once`() {
    var statements = PreparedStatements(limit: 8)
    let first = statements.plan("SELECT $1", [.int8])
    #expect(first.types == [.int8])
    #expect(statements.plan("SELECT $1", [.int8]) == PreparedStatements.Plan(name: first.name, types: nil))
  }

  @Test func `NULL fits every type; a type that was NULL is learned, and those known are kept`() {
    var statements = PreparedStatements(limit: 8)
    let first = statements.plan("SELECT", [.unspecified, .text])
    #expect(statements.plan("SELECT", [.unspecified, .unspecified]).types == nil)
    let second = statements.plan("SELECT", [.int8, .unspecified])
    #expect(second.types == [.int8, .text])
    #expect(second.name != first.name)
    #expect(statements.takeDiscarded() == [first.name])
    #expect(statements.plan("SELECT", [.unspecified, .text]).types == nil)
  }

  @Test func `The one unused for longest makes room, and the server is told`() {
    var statements = PreparedStatements(limit: 8)
    let plans = (0..<8).map { statements.plan("SELECT \($0)", []) }
    _ = statements.plan("SELECT 0", [])
    _ = statements.plan("SELECT 8", [])
    #expect(statements.count == 8)
    #expect(statements.takeDiscarded() == [plans[1].name])
    #expect(statements.plan("SELECT 0", []).types == nil)
  }

  @Test func `A name is never used again`() {
    var statements = PreparedStatements(limit: 8)
    let first = statements.plan("SELECT", [])
    statements.remove(first.name)
    #expect(statements.plan("SELECT", []).name != first.name)
  }
}
