import CountersignMessages
import CountersignTelemetry
import SQLite
import Testing

@testable import CommandEngine

@Suite struct EarlierTablesTests {
  /// Tables of both sorts, with a trigger that deletes in another one.
  private static let schema = """
    CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, owner TEXT, amount INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
    CREATE TABLE mark (owner TEXT NOT NULL, place INTEGER NOT NULL, hash BLOB NOT NULL, count INTEGER NOT NULL,
      PRIMARY KEY (hash, owner, place)) STRICT, WITHOUT ROWID;
    CREATE TABLE link (id TEXT NOT NULL PRIMARY KEY, note TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TRIGGER note_deleted AFTER DELETE ON note BEGIN DELETE FROM link WHERE note = OLD.id; END;
    """

  private func with(_ body: (String) async throws -> Void) async throws {
    try await StoreUnderTest.withFile(body)
  }

  private func open(_ path: String) async throws -> (database: Database, store: SQLiteStore) {
    let database = try await Database.open(
      path: path, options: DatabaseOptions(synchronous: .normal),
      migrations: [Migration(version: 1, sql: Self.schema), Migration(version: 2, sql: StoreSchema.sql)])
    return (database, try await SQLiteStore(in: database))
  }

  private func close(_ opened: (database: Database, store: SQLiteStore)) async {
    await opened.store.close()
    await opened.database.close()
  }

  private func fill(_ store: SQLiteStore, notes: Int = 0, marks: Int = 0) async throws {
    try await store.change { session throws(StoreError) -> Void in
      for number in 0..<notes {
        try session.execute(
          "INSERT INTO note (id, owner, amount, body) VALUES (?, ?, 1, ?)",
          [.text("n\(number)"), .text("o\(number % 7)"), .blob([UInt8(truncatingIfNeeded: number)])])
        try session.execute("INSERT INTO link (id, note) VALUES (?, ?)", [.text("l\(number)"), .text("n\(number)")])
      }
      for number in 0..<marks {
        try session.execute(
          "INSERT INTO mark (owner, place, hash, count) VALUES (?, ?, ?, 2)",
          [.text("o\(number % 3)"), Value(number), .blob([UInt8(number % 5), 0, 255])])
      }
    }
  }

  private func execute(_ store: SQLiteStore, _ sql: String, _ values: [Value] = []) async throws {
    try await store.change { session throws(StoreError) -> Void in try session.execute(sql, values) }
  }

  private func count(_ table: String, _ store: SQLiteStore) async throws -> Int {
    try await store.look { session throws(StoreError) in
      try session.first("SELECT count(*) FROM \(table)", []) { $0.int(0) } ?? -1
    }
  }

  /// Carries all pages.
  private func carry(_ carrier: some EarlierCarrier, _ store: SQLiteStore) async throws -> (Int, [StoreError]) {
    let earlier = EarlierTables(beside: store)
    var page = try await earlier.carryPage(carrier, behind: nil, at: start)
    var (carried, failures) = (page.carried, page.failures)
    while !page.isLast {
      page = try await earlier.carryPage(carrier, behind: page.place, at: start)
      carried += page.carried
      failures += page.failures
    }
    return (carried, failures)
  }

  /// Makes a record of a note, a count for its owner, and a message.
  struct Notes: EarlierCarrier {
    let table = "note"
    let companions = ["link"]
    var mayBeOut = true
    var unreadable: Set<String> = []
    /// IDs of rows that are over.
    var over: Set<String> = []
    var sends = true

    func addKeys(of row: EarlierRow, to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
      guard let id = RecordID(ticket, try row.text("id")) else { throw FieldReader.unreadable }
      keys.add(record: id)
      if let owner = try row.optionalText("owner") { keys.add(counter: try counter(owner), since: 0) }
    }

    func carry(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
      let name = try row.text("id")
      guard let id = RecordID(ticket, name) else { throw FieldReader.unreadable }
      if let owner = try row.optionalText("owner") {
        _ = try set.cells(of: counter(owner))
        set.count(try counter(owner), in: 1, by: Int64(try row.int("amount")), keepUntil: start + .seconds(60))
      }
      if unreadable.contains(name) { throw FieldReader.unreadable }
      if try set.record(id) == nil {
        try set.put(Record(id, body: row.blob("body"), uniqueKeys: [holder(name)]))
      }
      if sends { try set.send(message(name)) }
    }

    func isOver(_ row: EarlierRow, at now: UnixTime) throws(StoreError) -> Bool { over.contains(try row.text("id")) }
  }

  struct Marks: EarlierCarrier {
    let table = "mark"

    func carry(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
      set.count(
        try counter(row.text("owner")), in: Int64(try row.int("place")), by: Int64(try row.int("count")),
        keepUntil: start + .seconds(60))
    }
  }

  /// The sum of all cells.
  private func sum(_ store: SQLiteStore) async throws -> Int {
    try await store.look { session throws(StoreError) in
      try session.first("SELECT coalesce(sum(count), 0) FROM store_counter", []) { $0.int(0) } ?? -1
    }
  }

  @Test func `All rows are carried, in their order, and the empty tables are dropped`() async throws {
    try await with { path in
      let opened = try await open(path)
      let store = opened.store
      try await fill(store, notes: 1_300, marks: 1_100)
      let earlier = EarlierTables(beside: store)
      #expect(try await earlier.existing(among: ["mark", "none", "note"]) == ["mark", "note"])
      #expect(try await earlier.rows(of: "note", limit: 3).map { try $0.text("id") } == ["n0", "n1", "n2"])
      #expect(!(try await earlier.dropEmpty(Notes())))
      let (notes, failures) = try await carry(Notes(), store)
      #expect(notes == 1_300 && failures.isEmpty)
      #expect(try await sum(store) == 1_300)
      #expect(try await count("store_record", store) == 1_300)
      #expect(try await count("link", store) == 0)
      #expect(try await carry(Marks(), store).0 == 1_100)
      #expect(try await sum(store) == 1_300 + 2 * 1_100)
      #expect(try await store.found(try id("n513"))?.body == [1])
      let claimed = try await store.claimMessages(limit: 1_024, at: start)
      #expect(claimed.texts == (0..<1_024).map { "n\($0)" })
      #expect(!claimed.contains { !$0.mayBeOut })
      #expect(try await earlier.dropEmpty(Notes()))
      #expect(try await earlier.dropEmpty(Marks()))
      #expect(try await earlier.existing(among: ["note", "link", "mark"]).isEmpty)
      #expect(try await carry(Notes(), store).0 == 0)
      #expect(try await earlier.rows(of: "note").isEmpty)
      await close(opened)
    }
  }

  @Test func `Carrying is interrupted after any page, and goes on without doubling`() async throws {
    try await with { path in
      var opened = try await open(path)
      try await fill(opened.store, notes: 1_600, marks: 1_030)
      for _ in 0..<8 {
        _ = try await EarlierTables(beside: opened.store).carryPage(Notes(), behind: nil, at: start)
        _ = try await EarlierTables(beside: opened.store).carryPage(Marks(), behind: nil, at: start)
        await close(opened)
        opened = try await open(path)
      }
      #expect(try await sum(opened.store) == 1_600 + 2 * 1_030)
      #expect(try await count("store_record", opened.store) == 1_600)
      #expect(try await count("store_outbox", opened.store) == 1_600)
      // The stores that sent them have ended.
      let first = try await opened.store.claimMessages(limit: 1_000, at: start)
      let rest = try await opened.store.claimMessages(limit: 1_000, at: start)
      #expect((first + rest).texts.sorted() == (0..<1_600).map { "n\($0)" }.sorted())
      await close(opened)
    }
  }

  @Test func `Two processes that carry at once share the rows`() async throws {
    try await with { path in
      let (one, other) = (try await open(path), try await open(path))
      try await fill(one.store, notes: 2_000, marks: 2_000)
      async let first = carry(Notes(), one.store)
      async let second = carry(Notes(), other.store)
      let (left, right) = (try await first, try await second)
      #expect(left.0 + right.0 == 2_000 && left.1.isEmpty && right.1.isEmpty)
      #expect(try await sum(one.store) == 2_000)
      #expect(try await count("note", one.store) == 0)
      await close(one)
      await close(other)
    }
  }

  @Test func `A row that cannot be read stays, leaves nothing in the store, and blocks no other`() async throws {
    try await with { path in
      let opened = try await open(path)
      let store = opened.store
      try await fill(store, notes: 700)
      try await execute(store, "UPDATE note SET id = 'not an id' WHERE id = 'n3'")
      let (carried, failures) = try await carry(Notes(unreadable: ["n5", "n600"]), store)
      #expect(carried == 697 && failures.count == 3)
      #expect(try await sum(store) == 697)
      #expect(try await count("note", store) == 3)
      #expect(try await count("store_outbox", store) == 697)
      let earlier = EarlierTables(beside: store)
      #expect(!(try await earlier.dropEmpty(Notes())))
      // A version that reads them carries them.
      #expect(try await carry(Notes(), store).0 == 2)
      try await execute(store, "DELETE FROM note")
      #expect(try await earlier.dropEmpty(Notes()))
      await close(opened)
    }
  }

  @Test func `A row that cannot be read goes when it is over, and a readable one is carried all the same`() async throws
  {
    try await with { path in
      let opened = try await open(path)
      let store = opened.store
      try await fill(store, notes: 10)
      try await execute(store, "UPDATE note SET id = 'not an id' WHERE id = 'n3'")
      let (gone, failures) = try await carry(Notes(unreadable: ["n5", "n6"], over: ["n1", "n5", "not an id"]), store)
      #expect(gone == 9 && failures.count == 1)
      #expect(try await count("note", store) == 1)
      #expect(try await count("store_record", store) == 7)
      await close(opened)
    }
  }

  @Test func `A row that the store does not take stays alone`() async throws {
    try await with { path in
      let opened = try await open(path)
      let store = opened.store
      // Not loaded, so that only the database finds it.
      try await store.put(Record(try id("other"), body: [], uniqueKeys: [try holder("n1")]))
      try await store.put(Record(try id("n2"), body: [9]))
      try await fill(store, notes: 600)
      let (carried, failures) = try await carry(Notes(), store)
      #expect(carried == 599 && failures.map(\.code) == [.content])
      #expect(try await sum(store) == 599)
      #expect(try await count("note", store) == 1)
      #expect(try await store.found(try id("n2"))?.body == [9])
      await close(opened)
    }
  }

  @Test func `A look-up that was not loaded leaves the row, and a store that fails ends the carrying`() async throws {
    struct Forgetful: EarlierCarrier {
      let table = "note"
      func carry(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) { _ = try set.cells(of: counter("x")) }
    }
    try await with { path in
      let opened = try await open(path)
      try await fill(opened.store, notes: 3)
      let (carried, failures) = try await carry(Forgetful(), opened.store)
      #expect(carried == 0 && failures.map(\.code) == [.notAsked, .notAsked, .notAsked])
      await close(opened)
      let error = await #expect(throws: StoreError.self) {
        try await EarlierTables(beside: opened.store).carryPage(Notes(), behind: nil, at: start)
      }
      #expect(error?.code == .closed)
    }
  }

  @Test func `A key that is no text is deleted as it is, and columns keep their types`() async throws {
    try await with { path in
      let opened = try await open(path)
      let store = opened.store
      for owner in ["x'FF61'", "x'FE00FF'", "x'6162'"] {
        try await execute(
          store, "INSERT INTO mark (owner, place, hash, count) VALUES (CAST(\(owner) AS TEXT), 1, x'', 3)")
      }
      #expect(try await carry(Marks(), store).0 == 3)
      #expect(try await sum(store) == 9)
      #expect(try await count("mark", store) == 0)
      try await execute(store, "INSERT INTO note (id, owner, amount, body) VALUES ('n', NULL, -5, x'0102')")
      let row = try #require(try await EarlierTables(beside: store).rows(of: "note").first)
      #expect(try row.optionalText("owner") == nil)
      #expect(try row.int("amount") == -5)
      #expect(try row.bool("amount"))
      #expect(try row.blob("body") == [1, 2])
      #expect(try row.time("amount") == UnixTime(milliseconds: -5))
      #expect(throws: StoreError.self) { try row.text("owner") }
      #expect(throws: StoreError.self) { try row.optionalInt("none") }
      #expect(throws: StoreError.self) { try row.optionalInt("id") }
      #expect(throws: StoreError.self) { try row.optionalBlob("id") }
      #expect(throws: StoreError.self) { try row.optionalText("body") }
      #expect(throws: StoreError.self) { try row.word("id", StorePart.self) }
      await close(opened)
    }
  }

  @Test func `A held message waits for the reply, and goes at its end without`() async throws {
    struct Held: EarlierCarrier {
      let table = "note"
      func carry(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
        let message = OutgoingMessage(
          .kept, to: ("x", "y"), type: MessageType("job"), messageID: try row.text("id"), correlationID: nil,
          cause: nil, at: start, body: [1])
        try set.send(message, afterReplyTo: InboxKey(row.text("id")), orAt: start + .seconds(9))
      }
    }
    try await with { path in
      let opened = try await open(path)
      try await fill(opened.store, notes: 2)
      #expect(try await carry(Held(), opened.store).0 == 2)
      #expect(try await opened.store.claimMessages(limit: 9, at: start).isEmpty)
      let released = try await opened.store.release(heldBy: [try InboxKey("n1")], at: start)
      #expect(released.count == 1 && !released[0].mayBeOut)
      let due = try await opened.store.claimMessages(limit: 9, at: start + .seconds(9))
      #expect(try due.map { try OutboxCodec.decode($0.message).messageID } == ["n0"])
      await close(opened)
    }
  }
}
