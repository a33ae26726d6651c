import CommandEngine
import CountersignTelemetry
import Testing

@Suite struct StoreLookUpTests {
  @Test(arguments: StoreUnderTest.allCases)
  func `A group is read in pages, ordered by ID`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      let group = try owner("g")
      let ids = try (0..<300).map { try id("r\(1000 + $0)") }
      try await store.add { set throws(StoreError) in
        for id in ids.reversed() { try set.put(Record(id, body: [], groupKeys: [group])) }
      }
      var found: [String] = []
      var isComplete = false
      while !isComplete {
        let page = StoreKeys.GroupPage(behind: found.last ?? "", limit: 128)
        let members = try await store.read(StoreKeys(), at: start) { set throws(StoreError) in
          try set.group(group, page)
        }
        #expect(members.records.count <= 128)
        found += members.records.map(\.id.text)
        isComplete = members.isComplete
      }
      #expect(found == ids.map(\.text))
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A group shows the changes of the batch`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      let group = try owner("g")
      let (a, b, c) = (try id("a"), try id("b"), try id("c"))
      for id in [a, b] { try await store.put(Record(id, body: [], groupKeys: [group])) }
      let outcome = try await store.transact(keys(groups: [group]), at: start) { set throws(StoreError) -> [RecordID] in
        try set.put(Record(c, body: [], groupKeys: [group]))
        try set.remove(a)
        return try set.group(group).records.map(\.id)
      }
      #expect(try stored(outcome).value == [b, c])
      #expect(try await store.read(keys(groups: [group]), at: start).group(group).records.map(\.id) == [b, c])
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `What was not loaded is an error, not an absence`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      let a = try id("a")
      try await store.put(Record(a, body: [], uniqueKeys: [try holder("1")]))
      let set = try await store.read(StoreKeys(), at: start)
      let looks: [(WorkingSet) throws -> Void] = [
        { _ = try $0.record(a) }, { _ = try $0.holder(of: try holder("1")) }, { _ = try $0.group(try owner("g")) },
        { _ = try $0.message(try InboxKey("m")) }, { _ = try $0.holdsMessages(untilReplyTo: try InboxKey("m")) },
      ]
      for look in looks {
        let error = #expect(throws: StoreError.self) { try look(set) }
        #expect(error?.code == .notLoaded && error?.fault == .doubtful)
      }
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `Values outside the bounds are refused before anything is stored`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      let a = try id("a")
      let many = try (0...StoreLimits.maxKeysPerRecord).map { try holder("\($0)") }
      for number in 0..<4 {
        let error = await #expect(throws: StoreError.self) {
          try await store.add { set throws(StoreError) in try Self.exceed(number, a, many, in: &set) }
        }
        #expect(error?.code == .tooLarge && error?.fault == .content)
      }
      var tooMany = StoreKeys()
      for number in 0...StoreLimits.maxKeysPerLoad { tooMany.add(record: try id("\(number)")) }
      let error = await #expect(throws: StoreError.self) { try await store.read(tooMany, at: start) }
      #expect(error?.code == .tooLarge)
      #expect(RecordID(ticket, "") == nil && RecordID(ticket, "a\u{0}") == nil && RecordID(ticket, "é") == nil)
      #expect(try await store.found(a) == nil)
    }
  }

  private static func exceed(
    _ number: Int, _ id: RecordID, _ keys: [UniqueKey], in set: inout WorkingSet
  ) throws(StoreError) {
    switch number {
    case 0: try set.put(Record(id, body: [UInt8](repeating: 0, count: StoreLimits.maxBodyBytes + 1)))
    case 1: try set.put(Record(id, body: [], uniqueKeys: keys))
    case 2: try set.send(OutboxMessage(type: "", content: []))
    default: _ = try holder(String(repeating: "x", count: StoreLimits.maxHashBytes + 1))
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A failing body leaves nothing behind`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      let (key, a, old) = (try InboxKey("m"), try id("a"), try id("old"))
      try await store.put(Record(old, body: [1], uniqueKeys: [try holder("1")]))
      let load = keys(
        messages: [key], records: [a, old], holders: [try holder("1")], groups: [try owner("g")],
        counters: [try counter("c")])
      let sent = try await store.add { set throws(StoreError) in try set.send(message("before")) }
      let error = await #expect(throws: StoreError.self) {
        try await store.transact(load, at: start, settling: OutboxSettlement(finished: sent.map(\.number))) {
          set throws(StoreError) -> Void in
          try set.set(reply("x"), of: key)
          try set.remove(old)
          try set.put(Record(a, body: [], uniqueKeys: [try holder("1")], groupKeys: [try owner("g")]))
          set.count(try counter("c"), in: 1, keepUntil: start)
          try set.send(message("lost"))
          throw StoreError(.content, "a body that fails")
        }
      }
      #expect(error?.code == .content)
      let set = try await store.read(load, at: start)
      #expect(try set.message(key) == nil && set.record(a) == nil && set.record(old)?.body == [1])
      #expect(try set.holder(of: try holder("1"))?.id == old)
      #expect(try set.group(try owner("g")).records.isEmpty && set.cells(of: try counter("c")).isEmpty)
      #expect(try await store.figures().messages == 1)
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A closed store says so`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      try await store.probe()
      #expect(try await store.read(keys(messages: [try InboxKey("countersign-probe")]), at: start).changes.isEmpty)
      await store.close()
      let error = await #expect(throws: StoreError.self) { try await store.probe() }
      #expect(error?.code == .closed && error?.fault == .store)
    }
  }
}
