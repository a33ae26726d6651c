import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime
import TestSupport
import Testing

@testable import CommandEngine
@testable import RecordStore

/// A run that looks up what is not loaded is dropped, and repeated when all that it missed is there.
@Suite("Rounds", .timeLimit(.minutes(10)))
struct RoundsTests {
  // MARK: Batches

  @Test(arguments: StoreUnderTest.allCases)
  func `Commands that miss in different rounds keep their order, load each key once, and have one effect`(
    _ kind: StoreUnderTest
  ) async throws {
    try await FlowBench.with(kind) { bench in
      let texts = ["a", "chain1", "b"]
      await bench.deliver(batches: [try texts.map { try bench.note($0, .event) }])
      #expect(bench.events.map(\.messageID) == texts.map { "\($0).event" })
      #expect(bench.replies.map(\.messageID) == texts.map { "\($0).reply" })
      #expect(bench.metric("notes_stored_total") == 3 && bench.dead.isEmpty)
      #expect(try await bench.recorded(texts) == 3)
      #expect(bench.store.rounds == [3])
      // Their inbox keys, then what each has missed first, then the note of the second.
      for text in texts {
        #expect(bench.runs.all.filter { $0.text == text }.map(\.keys) == [3, 6, 7], "\(text)")
      }
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `Commands that name what their first load leads to run once, also beside one that cannot name it`(
    _ kind: StoreUnderTest
  ) async throws {
    try await FlowBench.with(kind) { bench in
      let texts = ["foreseen", "foreseenOnce"]
      await bench.deliver(batches: [try texts.map { try bench.note($0, .event) }])
      #expect(bench.store.rounds == [2] && bench.runs.all.map(\.text) == texts)
      let again = try texts.map { try bench.note($0, .event, id: "\($0) again") }
      await bench.deliver(batches: [again])
      #expect(bench.store.rounds.last == 3 && bench.runs.all.map(\.text) == texts + texts + texts)
      #expect(bench.replies.map(\.type) == Array(repeating: "note.kept.v1", count: 4) && bench.dead.isEmpty)
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `Commands that need more rounds than a batch has go alone, and leave the others together`(
    _ kind: StoreUnderTest
  ) async throws {
    try await FlowBench.with(kind) { bench in
      let most = BatchCommit<CommandQueue>.maxRounds
      let texts = ["chain\(most)", "a", "chain\(most + 1)", "b"]
      let source = await bench.deliver(batches: [try texts.map { try bench.note($0, .event) }])
      #expect(source.ackedCount == 4 && bench.dead.isEmpty)
      #expect(bench.events.map(\.messageID) == ["a", "b", texts[0], texts[2]].map { "\($0).event" })
      #expect(bench.metric("notes_stored_total") == 4)
      #expect(try await bench.recorded(texts) == 4)
      #expect(bench.store.rounds == [most + 1, most + 2, most + 3])
      #expect(!bench.logs.events.contains { $0.level == .error })
      #expect(bench.context.health.state == .ok)
    }
  }

  @Test(arguments: [[["a", "endless", "b"]], [["endless"], ["a", "b"]]])
  func `A command that always misses something is given up at once, and holds up no other`(
    batches: [[String]]
  ) async throws {
    let bench = try await FlowBench()
    #expect(try await bench.put(batches).ackedCount == 3)
    #expect(bench.dead.map(\.messageID) == ["endless"] && bench.deadReasons == ["INTERNAL_ERROR"])
    #expect(try await bench.recorded(["a", "b"]) == 2)
    #expect(try await bench.recorded(["endless"]) == 0)
    #expect(bench.replies.count == 3 && bench.metric("notes_stored_total") == 2)
    #expect(bench.store.rounds.max() == StoreLimits.maxRounds && bench.store.rounds.count <= 3)
    #expect(bench.context.health.state == .ok)
  }

  @Test func `A caught miss changes no outcome`() async throws {
    let bench = try await FlowBench()
    try await bench.put([["a"], ["caught"]])
    #expect(try Note(try #require(try await bench.stored("caught"))).word == "found")
  }

  @Test func `A record that is stored without a look takes the place of the one before`() async throws {
    let bench = try await FlowBench()
    for id in ["1", "2"] { await bench.deliver(try bench.note("blind", id: id)) }
    #expect(bench.replies.map(\.type) == ["note.kept.v1", "note.kept.v1"])
    #expect(try await bench.stored("blind")?.version == 2)
  }

  @Test func `A look, and reports of one batch, load what they miss together`() async throws {
    let bench = try await FlowBench()
    try await bench.put([["a"]])
    #expect(try NoteKept(json: try await bench.ask(LookAtNote(text: "a")).body).text == "a")
    #expect(bench.store.calls.last == .read && bench.store.rounds.last == 1)
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `The due records of a sweep load what they miss together`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench in
      try await bench.put([(0..<40).map { "linked\($0)" }])
      bench.clock.advance(by: NoteFlow.lifetime)
      let before = bench.store.rounds.count
      await bench.maintenance.tidy()
      #expect(bench.metric("notes_ended_total") == 40)
      #expect(bench.store.rounds.dropFirst(before).max() == 1)
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A run that missed something leaves no change, no message and no effect`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      let (key, old, new, other) = (try InboxKey("m"), try id("old"), try id("new"), try id("other"))
      let runs = Recorded()
      try await store.put(Record(old, body: [], uniqueKeys: [try holder("1")], groupKeys: [try owner("g")]))
      let outcome = try await store.transact(keys(messages: [key], records: [old]), at: start) {
        set throws(StoreError) -> Int in
        _ = runs.count()
        set.afterCommit {}
        try set.set(reply("x"), of: key)
        try set.remove(old)
        try set.put(Record(new, body: [], uniqueKeys: [try holder("1")], groupKeys: [try owner("g")]))
        set.count(try counter("c"), in: 1, keepUntil: start)
        try set.send(message("x"))
        _ = try set.record(other)
        return set.effects.count
      }
      let (effects, messages) = try stored(outcome)
      #expect(runs.all == [1, 2] && effects == 1 && messages.texts == ["x"])
      let set = try await store.read(
        keys(records: [old, new], groups: [try owner("g")], counters: [try counter("c")]), at: start)
      #expect(try set.record(old) == nil && set.record(new)?.version == 1)
      #expect(try set.group(owner("g")).records.map(\.id) == [new])
      #expect(try set.cells(of: counter("c")) == [CounterCell(slot: 1, count: 1)])
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `An error that follows from a caught miss does not count, one without a miss does`(_ kind: StoreUnderTest)
    async throws
  {
    try await kind.withStore { store in
      let (a, b) = (try id("a"), try id("b"))
      try await store.put(Record(a, body: [7]))
      #expect(
        try await store.read(StoreKeys(), at: start) { set throws(StoreError) in try Self.body(of: a, in: set) } == [7])
      let error = await #expect(throws: StoreError.self) {
        try await store.read(StoreKeys(), at: start) { set throws(StoreError) in try Self.body(of: b, in: set) }
      }
      #expect(error?.code == .content)
    }
  }

  private static func body(of id: RecordID, in set: WorkingSet) throws(StoreError) -> [UInt8] {
    guard let record = (try? set.record(id)) ?? nil else { throw StoreError(.content, "there is none") }
    return record.body
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `Counters, required keys and those of one list are missed in one run`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      let ids = try (0..<5).map { try id("r\($0)") }
      try await store.add { set throws(StoreError) in
        for id in ids { try set.put(Record(id, body: [1])) }
        for text in ["c", "d"] { set.count(try counter(text), in: 5, by: 2, keepUntil: start) }
      }
      let (first, rest) = (keys(records: [ids[0], ids[1]], holders: [try holder("1")]), Array(ids[2...]))
      let found = try await store.read(StoreKeys(), at: start) { set throws(StoreError) -> [Int] in
        let counts = [try set.cells(of: counter("c")), try set.cells(of: counter("d"))].joined().map { Int($0.count) }
        let records = try set.each(rest) { id throws(StoreError) in try set.record(id) }
        return counts + [records.compactMap { $0 }.count, set.rounds]
      }
      #expect(found == [2, 2, 3, 1])
      let required = try await store.read(StoreKeys(), at: start) { set throws(StoreError) -> [Int] in
        try set.require(first)
        let records = try [set.record(ids[0]), set.record(ids[1]), set.holder(of: holder("1"))]
        return [records.compactMap { $0 }.count, set.rounds]
      }
      #expect(required == [2, 1])
      // One that is looked at from two slots on is loaded from the earlier.
      let earlier = try await store.read(StoreKeys(), at: start) { set throws(StoreError) -> [Int] in
        let late = try set.cells(of: counter("c"), since: 6).count
        return [late, try set.cells(of: counter("c"), since: 5).count, set.rounds]
      }
      #expect(earlier == [1, 1, 1])
    }
  }
}
