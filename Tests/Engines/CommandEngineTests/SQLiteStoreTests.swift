import CountersignTelemetry
import Dispatch
import SQLite
import Testing

@testable import CommandEngine
@testable import RecordStore

@Suite struct SQLiteStoreTests {
  /// Statements that run for each batch, round or claim, and those that a start runs.
  static let statements =
    [
      SQLiteLoad.messages, SQLiteLoad.records, SQLiteLoad.holders, SQLiteLoad.group, SQLiteLoad.counters,
      SQLiteLoad.longCounters,
      SQLiteWrite.updateMessage, SQLiteWrite.forgetCounter, SQLiteWrite.updateRecord, SQLiteWrite.updateBody,
      SQLiteWrite.deleteRecord, SQLiteWrite.number, SQLiteWrite.holder, SQLiteWrite.takeOver, SQLiteWrite.freeKey,
      SQLiteWrite.rejoinGroup, SQLiteWrite.leaveGroup,
      SQLiteSequence.statement,
      SQLiteOutbox.finishRange, SQLiteOutbox.postpone, SQLiteOutbox.due, SQLiteOutbox.ahead, SQLiteOutbox.left,
      SQLiteOutbox.inHand, SQLiteOutbox.lower, SQLiteOutbox.advance, SQLiteOutbox.enroll,
      SQLiteOutbox.claim, SQLiteOutbox.held, SQLiteOutbox.forget, SQLiteOutbox.anythingDue, SQLiteOutbox.anythingAhead,
      SQLiteDue.statement, SQLiteDue.putOff, SQLiteDue.delete, SQLitePurge.messages, SQLitePurge.counters,
      SQLitePurge.records,
    ] + SQLitePurge.isOver.values + inserts.flatMap(\.statements)
  static let inserts = [
    SQLiteWrite.insertMessages, SQLiteWrite.addIncrements, SQLiteWrite.insertOutbox, SQLiteWrite.insertRecords,
    SQLiteWrite.takeKeys, SQLiteWrite.joinGroups,
  ]
  /// Statements that run for operators and gauges.
  static let rareStatements = [SQLiteStore.sums, SQLiteStore.heldKeys, SQLiteStore.sharedKeys]

  @Test func `100,000 rows: every look-up, sweep, claim and purge finds its own, by an index`() async throws {
    try await StoreUnderTest.withFile { path in
      let store = try await StoreUnderTest.open(path)
      try await fill(store, records: 20_000)
      let figures = try await store.look { session throws(StoreError) in
        try session.first(
          """
          SELECT (SELECT count(*) FROM store_record) + (SELECT count(*) FROM store_inbox)
            + (SELECT count(*) FROM store_unique) + (SELECT count(*) FROM store_counter)
            + (SELECT count(*) FROM store_outbox)
          """, []
        ) { $0.int(0) }
      }
      #expect(figures == 100_000)
      try await look(in: store)
      await store.close()
    }
  }

  private func fill(_ store: SQLiteStore, records: Int) async throws {
    for batch in 0..<(records / 2_000) {
      let numbers = (0..<2_000).map { batch * 2_000 + $0 }
      let load = keys(messages: try numbers.map { try InboxKey("m\($0)") })
      let outcome = try await store.transact(load, at: start) { set throws(StoreError) -> Void in
        for number in numbers { try self.add(number, to: &set) }
      }
      let sent = try CommandEngineTests.stored(outcome).messages
      #expect(sent.count == 2_000)
    }
  }

  private func add(_ number: Int, to set: inout WorkingSet) throws(StoreError) {
    guard let id = RecordID(ticket, "r\(number)") else { return }
    let end = start + .seconds(number)
    try set.set(InboxEntry(.reserved, fingerprint: [1], keepUntil: end), of: try InboxKey("m\(number)"))
    try set.put(Record(id, body: [1], dueAt: end, uniqueKeys: [try holder("\(number)")]))
    set.count(try counter("c\(number)"), in: 1, keepUntil: end)
    try set.send(message("\(number)"))
  }

  private func look(in store: SQLiteStore) async throws {
    let load = keys(
      messages: [try InboxKey("m777")], records: [try id("r778")], holders: [try holder("19999")],
      counters: [try counter("c5")])
    let set = try await store.read(load, at: start)
    #expect(try set.message(try InboxKey("m777")) != nil && set.record(try id("r778")) != nil)
    #expect(try set.holder(of: try holder("19999"))?.id == id("r19999"))
    #expect(try set.cells(of: try counter("c5")).count == 1)
    let swept = try await store.sweep(DueClaim(ticket, limit: 100), at: start + .seconds(49)) {
      records, set throws(StoreError) in
      for record in records { try set.remove(record.id) }
      return records.map(\.id.text)
    }
    #expect(try CommandEngineTests.stored(swept).value.result == (0..<50).map { "r\($0)" })
    #expect(try await store.purge(.inbox, limit: 4_096, at: start + .seconds(99)) == 100)
    #expect(try await store.purge(.counters, limit: 4_096, at: start + .seconds(99)) == 100)
    await store.close()
    let next = try await StoreUnderTest.open(store.database.path)
    let claimed = try await next.claimMessages(limit: 1_000, at: start)
    #expect(claimed.texts == (0..<1_000).map { "\($0)" })
    try await checkPlans(of: next)
    await next.close()
  }

  /// Every statement finds its rows by an index, whatever the statistics say.
  private func checkPlans(of store: SQLiteStore) async throws {
    let plans = try await store.look { session throws(StoreError) in
      var plans: [(String, String)] = []
      for statement in Self.statements + Self.rareStatements {
        let marks = statement.count { $0 == "?" }
        let values = Array(repeating: Value.null, count: marks)
        for line in try session.query("EXPLAIN QUERY PLAN " + statement, values, { $0.text(3) }) {
          plans.append((statement, line))
        }
      }
      return plans
    }
    #expect(plans.count >= Self.statements.count / 2)
    for (statement, line) in plans {
      // The keys of a statement are rows of its own.
      guard line != "SCAN wanted", !line.hasSuffix("CONSTANT ROWS") else { continue }
      #expect(!line.hasPrefix("SCAN") && !line.contains("TEMP B-TREE"), "\(line): \(statement)")
    }
  }

  @Test func `Statements of one batch are few, whatever its size`() async throws {
    #expect(Set(Self.statements).count == Self.statements.count)
    #expect(Self.statements.count <= 64)
  }

  @Test func `Runs of numbers are settled together`() {
    #expect(SQLiteOutbox.ranges(of: []) == [])
    #expect(SQLiteOutbox.ranges(of: [5, 3, 4, 9, 11, 10, 1]) == [1...1, 3...5, 9...11])
  }

  @Test func `An unknown state of an inbox entry is an error of its content`() async throws {
    try await StoreUnderTest.withFile { path in
      let store = try await StoreUnderTest.open(path)
      let key = try InboxKey("m")
      try await store.change { session throws(StoreError) -> Void in
        try session.execute(
          "INSERT INTO store_inbox (key, state, fingerprint, type, reply, keep) VALUES (?, 9, x'', '', x'', 0)",
          [.blob(key.bytes)])
      }
      let error = await #expect(throws: StoreError.self) { try await store.read(keys(messages: [key]), at: start) }
      #expect(error?.code == .content)
      await store.close()
    }
  }

  @Test func `Replies are searched in parts and beside a change, and the search of a canceled task is no result`()
    async throws
  {
    try await StoreUnderTest.withFile { path in
      let store = try await StoreUnderTest.open(path)
      let count = 2 * SQLiteStore.searchedEntries + 1
      try await store.change { session throws(StoreError) -> Void in
        try session.execute(
          """
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
          INSERT INTO store_inbox (key, state, fingerprint, type, reply, keep)
          SELECT CAST(i AS BLOB), 1, x'', 'x', CAST(iif(i % 1000 = 0, 'number', '') AS BLOB), 0 FROM n
          """, [.integer(Int64(count))])
      }
      let (changing, over) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      async let change: Void = store.change { session throws(StoreError) in
        try session.execute("DELETE FROM store_inbox WHERE number = 1")
        changing.signal()
        over.wait()
      }
      await withCheckedContinuation { go in
        DispatchQueue.global().async {
          changing.wait()
          go.resume()
        }
      }
      #expect(try await store.forget(repliesContaining: Array("other".utf8)) == 0)
      over.signal()
      try await change
      let canceled = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return try await store.forget(repliesContaining: Array("number".utf8))
      }
      await #expect(throws: StoreError.self) { try await canceled.value }
      #expect(try await store.forget(repliesContaining: Array("number".utf8)) == 2)
      let left = try await store.look { session throws(StoreError) in
        try session.first("SELECT count(*) FROM store_inbox", []) { $0.int(0) }
      }
      #expect(left == count - 3)
      await store.close()
    }
  }
}
