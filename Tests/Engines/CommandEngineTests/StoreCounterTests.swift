import CommandEngine
import CountersignTelemetry
import Testing

@Suite struct StoreCounterTests {
  @Test(arguments: StoreUnderTest.allCases)
  func `Increments of two writers add up`(_ kind: StoreUnderTest) async throws {
    try await kind.with { data in
      let stores = [try await data.open(), try await data.open()]
      let key = try counter("everybody")
      // Both have read the same before either writes.
      var sets: [WorkingSet] = []
      for number in 0..<40 { sets.append(try await stores[number % 2].read(keys(counters: [key]), at: start)) }
      for index in sets.indices {
        #expect(try sets[index].cells(of: key).isEmpty)
        sets[index].count(key, in: 7, keepUntil: start)
        sets[index].count(key, in: 8, by: 2, keepUntil: start)
      }
      let all = sets
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (number, set) in all.enumerated() {
          group.addTask { _ = try stored(try await stores[number % 2].write(set)) }
        }
        try await group.waitForAll()
      }
      let cells = try await stores[0].read(keys(counters: [key]), at: start).cells(of: key)
      #expect(cells == [CounterCell(slot: 7, count: 40), CounterCell(slot: 8, count: 80)])
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A window is loaded from its beginning, with the batch's own events`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      let (key, unseen) = (try counter("n"), try counter("unseen"))
      try await store.add { set throws(StoreError) in
        for slot: Int64 in [30, 10, 20] { set.count(key, in: slot, by: slot, keepUntil: start) }
        set.count(unseen, in: 1, keepUntil: start)
      }
      var window = StoreKeys()
      window.add(counter: key, since: 25)
      window.add(counter: key, since: 15)
      let outcome = try await store.transact(window, at: start) { set throws(StoreError) -> [CounterCell] in
        set.count(key, in: 20, by: -1, keepUntil: start)
        set.count(key, in: 25, keepUntil: start)
        set.count(unseen, in: 1, by: 4, keepUntil: start)
        return set.cells(of: key, since: 15)
      }
      let expected = [(20, 19), (25, 1), (30, 30)].map { CounterCell(slot: $0.0, count: $0.1) }
      #expect(try stored(outcome).value == expected)
      let all = try await store.read(keys(counters: [key, unseen]), at: start)
      #expect(try all.cells(of: key) == [CounterCell(slot: 10, count: 10)] + expected)
      #expect(try all.cells(of: unseen) == [CounterCell(slot: 1, count: 5)])
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `Of a long counter the newest cells are loaded`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      let key = try counter("n")
      let count = Int64(StoreLimits.maxCellsPerCounter) + 50
      try await store.add { set throws(StoreError) in
        for slot in 0..<count { set.count(key, in: slot, keepUntil: start) }
      }
      let cells = try await store.read(keys(counters: [key]), at: start).cells(of: key)
      #expect(cells.map(\.slot) == Array(50..<count))
      // One that is far longer hides none of the others.
      let other = try counter("o")
      try await store.add { set throws(StoreError) in
        for slot in 0..<Int64(5_000) { set.count(key, in: slot, keepUntil: start) }
        set.count(other, in: 1, keepUntil: start)
      }
      let set = try await store.read(keys(counters: [key, other]), at: start)
      #expect(try set.cells(of: key).map(\.slot) == Array((5_000 - Int64(StoreLimits.maxCellsPerCounter))..<5_000))
      #expect(try set.cells(of: other) == [CounterCell(slot: 1, count: 1)])
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A forgotten counter starts from zero, with what is added behind`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      let (key, other) = (try counter("n"), try counter("n2"))
      try await store.add { set throws(StoreError) in
        for slot in 0..<Int64(300) { set.count(key, in: slot, by: 3, keepUntil: start) }
        set.count(other, in: 1, keepUntil: start)
      }
      let outcome = try await store.transact(keys(counters: [key]), at: start) { set throws(StoreError) -> Int in
        set.count(key, in: 299, by: 7, keepUntil: start)
        let before = set.changeCount
        set.forget(counter: key)
        #expect(set.changeCount > before)
        #expect(try set.cells(of: key).isEmpty)
        set.count(key, in: 299, by: 2, keepUntil: start)
        return try set.cells(of: key).count
      }
      #expect(try stored(outcome).value == 1)
      let set = try await store.read(keys(counters: [key, other]), at: start)
      #expect(try set.cells(of: key) == [CounterCell(slot: 299, count: 2)])
      #expect(try set.cells(of: other) == [CounterCell(slot: 1, count: 1)])
      // An undone one stays as it was.
      let undone = try await store.transact(keys(counters: [key]), at: start) { set throws(StoreError) -> Bool in
        do throws(StoreError) {
          try set.attempt { set throws(StoreError) in
            set.forget(counter: key)
            throw StoreError(.content, "it fails")
          }
        } catch {}
        return set.changes.isEmpty
      }
      #expect(try stored(undone).value)
      #expect(try await store.read(keys(counters: [key]), at: start).cells(of: key).count == 1)
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `All counters are forgotten at once, and what is counted behind starts from zero`(_ kind: StoreUnderTest)
    async throws
  {
    try await kind.with { data in
      let stores = [try await data.open(), try await data.open()]
      #expect(try await stores[0].forgetCounters() == 0)
      let (long, short) = (try counter("n"), try counter("o"))
      try await stores[1].add { set throws(StoreError) in
        for slot in 0..<Int64(300) { set.count(long, in: slot, keepUntil: start) }
        set.count(short, in: 1, by: 7, keepUntil: start)
      }
      try await stores[1].put(Record(try id("kept"), body: []))
      #expect(try await stores[0].forgetCounters() == 301)
      try await stores[1].add { set throws(StoreError) in set.count(short, in: 1, keepUntil: start) }
      let set = try await stores[1].read(keys(counters: [long, short]), at: start)
      #expect(try set.cells(of: long).isEmpty)
      #expect(try set.cells(of: short) == [CounterCell(slot: 1, count: 1)])
      #expect(try await stores[0].found(try id("kept")) != nil)
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A purge deletes what is over, and no more than its limit`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      let messages = try (0..<10).map { try InboxKey("m\($0)") }
      let counters = try (0..<10).map { try counter("c\($0)") }
      let ids = try (0..<10).map { try id("r\($0)") }
      let load = keys(messages: messages, records: ids, counters: counters)
      _ = try stored(
        try await store.transact(load, at: start) { set throws(StoreError) -> Void in
          for number in 0..<10 {
            let end = start + .seconds(number)
            try set.set(InboxEntry(.reserved, fingerprint: [], keepUntil: end), of: messages[number])
            set.count(counters[number], in: 1, keepUntil: end)
            try set.put(Record(ids[number], body: [], discardAt: end, uniqueKeys: [try holder("\(number)")]))
          }
        })
      try await store.put(Record(try id("due"), body: [], dueAt: start, discardAt: start))
      try await store.put(Record(try id("forever"), body: []))
      for part in StorePart.allCases {
        #expect(try await store.purge(part, limit: 4, at: start + .seconds(5)) == 4)
        #expect(try await store.purge(part, limit: 4, at: start + .seconds(5)) == 2)
        #expect(try await store.purge(part, limit: 4, at: start + .seconds(5)) == 0)
      }
      let set = try await store.read(load, at: start)
      #expect(
        try messages.map { try set.message($0) != nil } == Array(repeating: false, count: 6) + [true, true, true, true])
      #expect(try counters.map { try set.cells(of: $0).count } == [0, 0, 0, 0, 0, 0, 1, 1, 1, 1])
      #expect(
        try ids.map { try set.record($0) != nil } == Array(repeating: false, count: 6) + [true, true, true, true])
      for text in ["due", "forever"] { #expect(try await store.found(try id(text)) != nil) }
      // A purged record gives its keys free.
      try await store.put(Record(try id("new"), body: [], uniqueKeys: [try holder("0")]))
    }
  }
}
