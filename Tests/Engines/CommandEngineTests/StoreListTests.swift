import CommandEngine
import CountersignTelemetry
import Testing

@Suite struct StoreListTests {
  @Test(arguments: StoreUnderTest.allCases)
  func `Counters are listed by the beginning of their names`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      try await store.add { set throws(StoreError) in
        for (name, count) in [("abB", 2), ("aba", 1), ("ab", 4), ("ac", 8), ("a", 16), ("abz", 0)] {
          set.count(try counter(name), in: 10, by: Int64(count), keepUntil: start)
          set.count(try counter(name), in: 20, by: Int64(count), keepUntil: start)
        }
        // Taken back twice.
        set.count(try counter("aby"), in: 20, by: -1, keepUntil: start)
        set.count(try CounterKey([0xFF, 0xFF]), in: 20, keepUntil: start)
        set.count(try CounterKey([0xFF]), in: 20, keepUntil: start)
      }
      func list(_ prefix: [UInt8], since slot: Int64 = 0, _ limit: Int = 100) async throws -> [String: Int64] {
        let sums = try await store.counters(named: prefix, since: slot, limit: limit)
        #expect(
          sums.map { Array($0.key.bytes) }.elementsEqual(
            sums.map(\.key.bytes).sorted { $0.lexicographicallyPrecedes($1) }))
        return Dictionary(
          uniqueKeysWithValues: sums.map { (String(decoding: $0.key.bytes, as: UTF8.self), $0.count) })
      }
      let ab = Array("ab".utf8)
      #expect(try await list(ab) == ["ab": 8, "abB": 4, "aba": 2])
      #expect(try await list(ab, since: 11) == ["ab": 4, "abB": 2, "aba": 1])
      #expect(try await list(ab, since: 21) == [:])
      #expect(try await list(ab, 2) == ["ab": 8, "abB": 4])
      #expect(try await list(Array("ad".utf8)) == [:])
      #expect(try await store.counters(named: [0xFF], since: 0, limit: 9).map(\.key.bytes) == [[0xFF], [0xFF, 0xFF]])
      for (prefix, limit) in [([], 1), (ab, 0), (ab, StoreLimits.maxListedCounters + 1)] {
        let error = await #expect(throws: StoreError.self) {
          try await store.counters(named: prefix, since: 0, limit: limit)
        }
        #expect(error?.code == .tooLarge)
      }
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `Held keys and memberships are counted by the name of the key`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      let longer = KeySpace(ticket, "holder2")
      try await store.add { set throws(StoreError) in
        for number in 0..<5 {
          guard let id = RecordID(ticket, "t\(number)") else { return }
          try set.put(
            Record(
              id, body: [], uniqueKeys: [try holder("\(number)"), try UniqueKey(longer, [UInt8(number)])],
              groupKeys: [try owner("a"), try owner("b\(number % 2)")]))
        }
      }
      #expect(try await store.count(holderSpace) == 5)
      #expect(try await store.count(longer) == 5)
      #expect(try await store.count(ownerSpace) == 10)
      #expect(try await store.count(KeySpace(RecordKind("other"), "holder")) == 0)
      let load = keys(records: [try id("t0"), try id("t1")])
      _ = try stored(
        try await store.transact(load, at: start) { set throws(StoreError) -> Void in
          guard let gone = RecordID(ticket, "t0"), let rest = RecordID(ticket, "t1") else { return }
          try set.remove(gone)
          if var record = try set.record(rest) {
            record.uniqueKeys = []
            record.groupKeys = [try owner("a")]
            try set.put(record)
          }
        })
      #expect(try await store.count(holderSpace) == 3)
      #expect(try await store.count(ownerSpace) == 7)
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `Replies that contain a text are forgotten, and no others`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      let entries: [(String, InboxEntry)] = [
        ("a", reply(#"{"number":"+491701"}"#)), ("b", reply(#"{"number":"+4917012"}"#)), ("c", reply("+491702")),
        ("d", InboxEntry(.unrecorded(note: Array("of \"+491701\"".utf8)), fingerprint: [], keepUntil: start)),
        ("e", InboxEntry(.reserved, fingerprint: Array("\"+491701\"".utf8), keepUntil: start)),
        ("\"+491701\"", reply("")),
      ]
      let load = keys(messages: try entries.map { try InboxKey($0.0) })
      _ = try stored(
        try await store.transact(load, at: start) { set throws(StoreError) -> Void in
          for (key, entry) in entries { try set.set(entry, of: try InboxKey(key)) }
        })
      #expect(try await store.forget(repliesContaining: []) == 0)
      #expect(try await store.forget(repliesContaining: [0xFF, 0x00]) == 0)
      #expect(try await store.forget(repliesContaining: Array("\"+491701\"".utf8)) == 2)
      let set = try await store.read(load, at: start)
      let left = try entries.filter { try set.message(try InboxKey($0.0)) != nil }.map(\.0)
      #expect(left == ["b", "c", "e", "\"+491701\""])
      #expect(try await store.forget(repliesContaining: Array("\"+491701\"".utf8)) == 0)
    }
  }
}
