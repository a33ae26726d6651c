import CommandEngine
import CountersignTelemetry
import Synchronization
import Testing

@Suite struct StoreSweepTests {
  @Test(arguments: StoreUnderTest.allCases)
  func `Due records come longest due first, and at most as many as asked for`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      for (text, due) in [("c", 3), ("a", 1), ("d", 4), ("b", 2)] {
        try await store.put(Record(try id(text), body: [], dueAt: start + .seconds(due)))
      }
      try await store.put(Record(try id("never"), body: []))
      try await store.put(Record(try id("other", RecordKind("other")), body: [], dueAt: start))
      let claim = DueClaim(ticket, limit: 2)
      let now = start + .seconds(3)
      let delete: @Sendable ([Record], inout WorkingSet) throws(StoreError) -> [String] = {
        records, set throws(StoreError) in
        for record in records { try set.remove(record.id) }
        return records.map(\.id.text)
      }
      let first = try stored(try await store.sweep(claim, at: now, delete)).value
      #expect(first.result == ["a", "b"] && first.rows == 2 && first.unreadable == 0 && first.untouched == 0)
      #expect(try stored(try await store.sweep(claim, at: now, delete)).value.result == ["c"])
      #expect(try stored(try await store.sweep(claim, at: now, delete)).value.rows == 0)
      #expect(try await store.found(try id("d")) != nil)
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `Two sweeps at once get different records`(_ kind: StoreUnderTest) async throws {
    try await kind.with { data in
      let stores = [try await data.open(), try await data.open()]
      let ids = try (0..<200).map { try id("r\($0)") }
      try await stores[0].add { set throws(StoreError) in
        for id in ids { try set.put(Record(id, body: [], dueAt: start)) }
      }
      let swept = try await withThrowingTaskGroup(of: [RecordID].self) { group in
        for number in 0..<20 {
          group.addTask {
            let outcome = try await stores[number % 2].sweep(DueClaim(ticket, limit: 16), at: start) {
              records, set throws(StoreError) in
              for record in records {
                var record = record
                record.dueAt = nil
                try set.put(record)
                try set.send(message(record.id.text))
              }
              return records.map(\.id)
            }
            return try stored(outcome).value.result
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      #expect(swept.count == 200 && Set(swept) == Set(ids))
      // Messages of sweeps are left to the relay of the same store.
      let messages =
        try await stores[0].claimMessages(limit: 1_000, at: start)
        + stores[1].claimMessages(limit: 1_000, at: start)
      #expect(messages.count == 200 && messages.allSatisfy { !$0.mayBeOut })
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `Unreadable rows are skipped and counted, and go when they are over`(_ kind: StoreUnderTest) async throws {
    try await kind.with { data in
      let store = try await data.open()
      for text in ["a", "b", "c"] {
        try await store.put(
          Record(
            try id(text), body: [], dueAt: start, discardAt: start + .seconds(7_000),
            uniqueKeys: [try holder(text)]))
      }
      try await data.spoil(try id("b"))
      let delete: @Sendable ([Record], inout WorkingSet) throws(StoreError) -> [String] = {
        records, set throws(StoreError) in
        for record in records { try set.remove(record.id) }
        return records.map(\.id.text).sorted()
      }
      let claim = DueClaim(ticket, pause: .seconds(3_600))
      let first = try stored(try await store.sweep(claim, at: start, delete)).value
      #expect(first.result == ["a", "c"] && first.rows == 3 && first.unreadable == 1)
      #expect(try stored(try await store.sweep(claim, at: start + .seconds(3_599), delete)).value.rows == 0)
      let second = try stored(try await store.sweep(claim, at: start + .seconds(3_600), delete)).value
      #expect(second.result.isEmpty && second.unreadable == 1)
      // A look fails for the one that asked, and does not answer that there is none.
      let error = await #expect(throws: StoreError.self) { try await store.found(try id("b")) }
      #expect(error?.code == .content)
      let last = try stored(try await store.sweep(claim, at: start + .seconds(7_200), delete)).value
      #expect(last.unreadable == 1)
      #expect(try await store.found(try id("b")) == nil)
      try await store.put(Record(try id("d"), body: [], uniqueKeys: [try holder("b")]))
      #expect(try await store.found(try id("d")) != nil)
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A record that cannot be read fails the look-up of it, and no other`(_ kind: StoreUnderTest) async throws {
    try await kind.with { data in
      let store = try await data.open()
      let (a, b) = (try id("a"), try id("b"))
      for each in [a, b] {
        try await store.put(
          Record(each, body: [], uniqueKeys: [try holder(each.text)], groupKeys: [try owner("all")]))
      }
      try await data.spoil(b)
      let load = keys(
        records: [a, b], holders: [try holder("a"), try holder("b"), try holder("c")], groups: [try owner("all")])
      var set = try await store.read(load, at: start)
      #expect(try set.record(a) != nil)
      #expect(throws: StoreError.self) { try set.record(b) }
      #expect(try set.holder(of: holder("a"))?.id == a)
      #expect(throws: StoreError.self) { try set.holder(of: holder("b")) }
      #expect(try set.holder(of: holder("c")) == nil)
      #expect(try set.group(owner("all")).records.map(\.id) == [a])
      #expect(throws: StoreError.self) { try set.put(Record(b, body: [])) }
      #expect(throws: StoreError.self) { try set.remove(b) }
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A record that a body leaves as it was is put off`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      for text in ["a", "b"] { try await store.put(Record(try id(text), body: [1], dueAt: start)) }
      let claim = DueClaim(ticket, pause: .seconds(60))
      let outcome = try await store.sweep(claim, at: start) { records, set throws(StoreError) in
        var failures = 0
        for record in records {
          do throws(StoreError) {
            try set.attempt { set throws(StoreError) in
              try set.send(message(record.id.text))
              try set.remove(record.id)
              if record.id.text == "a" { throw StoreError(.content, "a body that cannot be read") }
            }
          } catch {
            failures += 1
          }
        }
        return failures
      }
      let swept = try stored(outcome).value
      #expect(swept.result == 1 && swept.untouched == 1 && swept.rows == 2)
      #expect(try await store.found(try id("a"))?.dueAt == start + .seconds(60))
      #expect(try await store.found(try id("b")) == nil)
      #expect(try await store.claimMessages(limit: 9, at: start).texts == ["b"])
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A sweep loads what its records lead to`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      let (a, b) = (try id("a"), try id("b"))
      try await store.put(Record(a, body: Array("b".utf8), dueAt: start))
      try await store.put(Record(b, body: [7]))
      let outcome = try await store.sweep(DueClaim(ticket), at: start) {
        records, set throws(StoreError) -> [UInt8]? in
        let id = records.first.flatMap { RecordID(ticket, String(decoding: $0.body, as: UTF8.self)) }
        return if let id { try set.record(id)?.body } else { nil }
      }
      #expect(try stored(outcome).value.result == [7])
    }
  }
}
