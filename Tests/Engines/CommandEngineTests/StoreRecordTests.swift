import CommandEngine
import CountersignTelemetry
import Testing

@Suite struct StoreRecordTests {
  @Test(arguments: StoreUnderTest.allCases)
  func `A record comes back as it was stored, and its version counts up`(_ kind: StoreUnderTest) async throws {
    try await kind.with { data in
      let store = try await data.open()
      let record = Record(
        try id("a"), body: [0, 255, 1], dueAt: start + .seconds(5), discardAt: start + .seconds(9),
        uniqueKeys: [try holder("x"), try holder("y")], groupKeys: [try owner("z")])
      try await store.put(record)
      let found = try #require(try await data.open().found(record.id))
      #expect(found.version == 1 && found.body == record.body && found.dueAt == record.dueAt)
      #expect(found.discardAt == record.discardAt)
      #expect(found.uniqueKeys == record.uniqueKeys && found.groupKeys == record.groupKeys)
      let load = keys(records: [record.id], holders: [try holder("x"), try holder("w")])
      let outcome = try await store.transact(load, at: start) { set throws(StoreError) -> Bool in
        guard var record = try set.holder(of: try holder("x")), try set.holder(of: try holder("w")) == nil else {
          return false
        }
        record.body = []
        record.dueAt = nil
        try set.put(record)
        return true
      }
      #expect(try stored(outcome).value)
      let changed = try #require(try await store.found(record.id))
      #expect(changed.version == 2 && changed.body.isEmpty && changed.dueAt == nil)
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A record that is removed and made anew in one set is replaced`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      let old = Record(try id("a"), body: [1], uniqueKeys: [try holder("x")], groupKeys: [try owner("z")])
      try await store.put(old)
      let load = keys(records: [old.id], holders: [try holder("x"), try holder("y")])
      let outcome = try await store.transact(load, at: start) { set throws(StoreError) in
        try set.remove(old.id)
        try set.put(Record(old.id, body: [2], uniqueKeys: [try holder("y")]))
      }
      _ = try stored(outcome)
      let found = try #require(try await store.found(old.id))
      #expect(found.version == 2 && found.body == [2] && found.groupKeys.isEmpty)
      #expect(found.uniqueKeys == [try holder("y")])
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `IDs differ by their bytes, and belong to a kind`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      try await store.put(Record(try id("abc"), body: [1]))
      try await store.put(Record(try id("ABC"), body: [2]))
      try await store.put(Record(try id("abc", RecordKind("other")), body: [3]))
      #expect(try await store.found(try id("abc"))?.body == [1])
      #expect(try await store.found(try id("ABC"))?.body == [2])
      #expect(try await store.found(try id("abc", RecordKind("other")))?.body == [3])
      #expect(try await store.found(try id("aBc")) == nil)
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A unique key has one holder`(_ kind: StoreUnderTest) async throws {
    try await kind.with { data in
      let (one, other) = (try await data.open(), try await data.open())
      let load = keys(holders: [try holder("number")])
      var (first, second) = (try await one.read(load, at: start), try await other.read(load, at: start))
      try first.put(Record(try id("a"), body: [], uniqueKeys: [try holder("number")]))
      try second.put(Record(try id("b"), body: [], uniqueKeys: [try holder("number")]))
      _ = try stored(try await one.write(first))
      #expect(conflict(try await other.write(second)) == .taken(holderSpace))
      #expect(try await other.found(try id("b")) == nil)
      let again = try await other.read(load, at: start)
      #expect(try again.holder(of: try holder("number"))?.id == id("a"))
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A key moves to another record within one transaction`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      let (a, b, c) = (try id("a"), try id("b"), try id("c"))
      try await store.put(Record(a, body: [], uniqueKeys: [try holder("1")]))
      try await store.put(Record(b, body: [], uniqueKeys: [try holder("2")]))
      let load = keys(records: [a, b], holders: [try holder("1"), try holder("2")])
      let outcome = try await store.transact(load, at: start) { set throws(StoreError) -> Void in
        guard var one = try set.record(a), var two = try set.record(b) else { return }
        one.uniqueKeys = []
        try set.put(one)
        two.uniqueKeys = [try holder("1")]
        try set.put(two)
        try set.put(Record(c, body: [], uniqueKeys: [try holder("2")]))
      }
      _ = try stored(outcome)
      let set = try await store.read(load, at: start)
      #expect(try set.holder(of: try holder("1"))?.id == b)
      #expect(try set.holder(of: try holder("2"))?.id == c)
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A deleted record gives its keys free, and is gone`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      let a = try id("a")
      try await store.put(Record(a, body: [], uniqueKeys: [try holder("1")], groupKeys: [try owner("g")]))
      let load = keys(records: [a], holders: [try holder("1")], groups: [try owner("g")])
      _ = try await store.transact(load, at: start) { set throws(StoreError) -> Void in try set.remove(a) }
      let set = try await store.read(load, at: start)
      #expect(try set.record(a) == nil)
      #expect(try set.holder(of: try holder("1")) == nil)
      #expect(try set.group(try owner("g")).records.isEmpty)
      try await store.put(Record(try id("b"), body: [], uniqueKeys: [try holder("1")]))
      #expect(try await store.found(try id("b")) != nil)
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `Of two changes to one version the second reads again`(_ kind: StoreUnderTest) async throws {
    try await kind.with { data in
      let (one, other) = (try await data.open(), try await data.open())
      let a = try id("a")
      try await one.put(Record(a, body: [0]))
      var sets = [
        try await one.read(keys(records: [a]), at: start), try await other.read(keys(records: [a]), at: start),
      ]
      for index in sets.indices {
        var record = try #require(try sets[index].record(a))
        record.body = [UInt8(index) + 1]
        try sets[index].put(record)
        try sets[index].send(message("\(index)"))
      }
      _ = try stored(try await one.write(sets[0]))
      #expect(conflict(try await other.write(sets[1])) == .changed(ticket))
      #expect(try await one.found(a)?.body == [1])
      #expect(try await one.figures().messages == 1)
      // A writer that reads again succeeds.
      let again = try await other.transact(keys(records: [a]), at: start) { set throws(StoreError) -> Void in
        guard var record = try set.record(a) else { return }
        record.body.append(9)
        try set.put(record)
      }
      _ = try stored(again)
      #expect(try await one.found(a)?.body == [1, 9])
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A record that was deleted meanwhile, or has its ID taken, is read again`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      let (a, b) = (try id("a"), try id("b"))
      try await store.put(Record(a, body: [0]))
      var late = try await store.read(keys(records: [a]), at: start)
      _ = try await store.transact(keys(records: [a]), at: start) { set throws(StoreError) -> Void in try set.remove(a)
      }
      var record = try #require(try late.record(a))
      record.body = [5]
      try late.put(record)
      #expect(conflict(try await store.write(late)) == .changed(ticket))
      var new = try await store.read(keys(records: [b]), at: start)
      try await store.put(Record(b, body: [1]))
      try new.put(Record(b, body: [2]))
      #expect(conflict(try await store.write(new)) == .changed(ticket))
      #expect(try await store.found(b)?.body == [1])
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `Increments of one record by many writers are all kept`(_ kind: StoreUnderTest) async throws {
    try await kind.with { data in
      let stores = [try await data.open(), try await data.open()]
      let a = try id("a")
      try await stores[0].put(Record(a, body: [0]))
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<50 {
          group.addTask {
            let outcome = try await stores[number % 2].transact(keys(records: [a]), at: start) {
              set throws(StoreError) -> Void in
              guard var record = try set.record(a) else { return }
              record.body[0] += 1
              try set.put(record)
            }
            _ = try stored(outcome)
          }
        }
        try await group.waitForAll()
      }
      #expect(try await stores[0].found(a)?.body == [50])
    }
  }
}
