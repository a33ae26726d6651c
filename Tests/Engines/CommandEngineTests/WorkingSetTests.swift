import CommandEngine
import CountersignTelemetry
import Testing

@Suite struct WorkingSetTests {
  @Test func `A failed attempt leaves nothing, and a successful one its changes`() throws {
    var set = WorkingSet(at: start)
    let (key, a, b) = (try InboxKey("m"), try id("a"), try id("b"))
    set.load(nil, of: key)
    set.load(absent: a)
    set.load([], of: try counter("c"))
    set.load([], of: try owner("g"), isComplete: true)
    set.load(absentHolderOf: try holder("1"))
    let change: (inout WorkingSet, RecordID) throws(StoreError) -> Void = { set, id throws(StoreError) in
      try set.put(Record(id, body: [1], uniqueKeys: [try holder("1")], groupKeys: [try owner("g")]))
      set.count(try counter("c"), in: 3, keepUntil: start)
      try set.send(message("x"))
    }
    #expect(throws: StoreError.self) {
      try set.attempt { set throws(StoreError) in
        try set.set(reply("no"), of: key)
        try change(&set, b)
        throw StoreError(.content, "it fails")
      }
    }
    #expect(set.changeCount == 0 && set.changes.isEmpty)
    #expect(try set.message(key) == nil && set.holder(of: try holder("1")) == nil)
    #expect(try set.cells(of: try counter("c")).isEmpty && set.group(try owner("g")).records.isEmpty)
    #expect(throws: StoreError.self) { try set.record(b) }
    try set.attempt { set throws(StoreError) in
      try change(&set, a)
      // An inner failure undoes its own part only.
      do throws(StoreError) {
        try set.attempt { set throws(StoreError) in
          set.count(try counter("c"), in: 3, keepUntil: start)
          try set.remove(a)
          throw StoreError(.content, "it fails")
        }
      } catch {}
    }
    #expect(try set.record(a)?.body == [1] && set.holder(of: try holder("1"))?.id == a)
    #expect(try set.cells(of: try counter("c")) == [CounterCell(slot: 3, count: 1)])
    #expect(set.changes.outgoing.count == 1 && set.changes.records.count == 1 && set.changes.increments.count == 1)
  }

  @Test func `A key that is added twice counts once`() throws {
    let (m, a, h) = (try InboxKey("m"), try id("a"), try holder("1"))
    let (g, c) = (try owner("g"), try counter("c"))
    let twice = keys(messages: [m, m], records: [a, a], holders: [h, h], groups: [g, g], counters: [c, c])
    #expect(twice.count == 5)
  }

  @Test func `A failed attempt brings a forgotten counter back`() throws {
    var set = WorkingSet(at: start)
    let key = try counter("c")
    set.load([CounterCell(slot: 1, count: 5)], of: key)
    set.count(key, in: 2, keepUntil: start)
    #expect(throws: StoreError.self) {
      try set.attempt { set throws(StoreError) in
        set.forget(counter: key)
        set.count(key, in: 3, keepUntil: start)
        throw StoreError(.content, "it fails")
      }
    }
    #expect(try set.cells(of: key) == [CounterCell(slot: 1, count: 5), CounterCell(slot: 2, count: 1)])
    #expect(set.changes.forgotten.isEmpty && set.changes.increments.map(\.slot) == [2])
    set.attempt { set in set.forget(counter: key) }
    #expect(set.changes.forgotten == [key] && set.changes.increments.isEmpty && !set.changes.isEmpty)
  }

  @Test func `A copy keeps what it was`() throws {
    var set = WorkingSet(at: start)
    set.load(absent: try id("a"))
    let copy = set
    try set.put(Record(try id("a"), body: [1]))
    try set.send(message("x"))
    #expect(try copy.record(try id("a")) == nil && copy.changes.isEmpty)
    set = copy
    #expect(set.changes.isEmpty)
  }

  @Test func `A second holder of a key in one batch is refused`() throws {
    var set = WorkingSet(at: start)
    try set.put(Record(try id("a"), body: [], uniqueKeys: [try holder("1")]))
    let error = #expect(throws: StoreError.self) {
      try set.put(Record(try id("b"), body: [], uniqueKeys: [try holder("1")]))
    }
    #expect(error?.code == .taken && error?.fault == .content)
    try set.remove(try id("a"))
    try set.put(Record(try id("b"), body: [], uniqueKeys: [try holder("1")]))
    #expect(try set.holder(of: try holder("1"))?.id == id("b"))
    #expect(set.changes.records.count == 1)
  }

  @Test func `A key of another kind, and a record of another version, are mistakes`() throws {
    var set = WorkingSet(at: start)
    let foreign = try UniqueKey(KeySpace(RecordKind("other"), "holder"), [1])
    #expect(throws: StoreError.self) { try set.put(Record(try id("a"), body: [], uniqueKeys: [foreign])) }
    set.load(absent: try id("b"))
    try set.put(Record(try id("b"), body: []))
    try set.remove(try id("b"))
    try set.put(Record(try id("b"), body: [2]))
    #expect(try set.record(try id("b"))?.body == [2])
  }

  @Test func `Descriptions of errors and conflicts name no ID and no hash`() throws {
    let secret = "s3cr3t"
    var set = WorkingSet(at: start)
    let key = try holder(secret)
    try set.put(Record(try id(secret), body: [], uniqueKeys: [key]))
    let texts = [
      #expect(throws: StoreError.self) { try set.record(try id(secret + "1")) }?.description,
      #expect(throws: StoreError.self) { try set.put(Record(try id("b"), body: [], uniqueKeys: [key])) }?.description,
      "\(try id(secret))", "\(key)", "\(try owner(secret))", "\(StoreConflict.taken(holderSpace))",
    ]
    #expect(texts.allSatisfy { $0.map { !$0.contains(secret) && !$0.isEmpty } ?? false })
  }
}
