import Testing

@testable import PostgreSQL

@Suite("Cache of prepared statements")
struct StatementCacheTests {
  @Test("A text is prepared once")
  func once() {
    var cache = StatementCache(limit: 8)
    let first = cache.plan("SELECT $1", [.int8])
    #expect(first.types == [.int8])
    #expect(cache.plan("SELECT $1", [.int8]) == StatementCache.Plan(name: first.name, types: nil))
  }

  @Test("NULL fits every type; a type that was NULL is learned, and those known are kept")
  func types() {
    var cache = StatementCache(limit: 8)
    let first = cache.plan("SELECT", [.unspecified, .text])
    #expect(cache.plan("SELECT", [.unspecified, .unspecified]).types == nil)
    let second = cache.plan("SELECT", [.int8, .unspecified])
    #expect(second.types == [.int8, .text])
    #expect(second.name != first.name)
    #expect(cache.takeDiscarded() == [first.name])
    #expect(cache.plan("SELECT", [.unspecified, .text]).types == nil)
  }

  @Test("The one unused for longest makes room, and the server is told")
  func bound() {
    var cache = StatementCache(limit: 8)
    let plans = (0..<8).map { cache.plan("SELECT \($0)", []) }
    _ = cache.plan("SELECT 0", [])
    _ = cache.plan("SELECT 8", [])
    #expect(cache.count == 8)
    #expect(cache.takeDiscarded() == [plans[1].name])
    #expect(cache.plan("SELECT 0", []).types == nil)
  }

  @Test("A name is never used again")
  func names() {
    var cache = StatementCache(limit: 8)
    let first = cache.plan("SELECT", [])
    cache.remove(first.name)
    #expect(cache.plan("SELECT", []).name != first.name)
  }
}
