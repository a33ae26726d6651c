import CountersignTelemetry
import Dispatch
import PostgreSQL
import SQLite
import Synchronization
import TestSupport
import Testing

@testable import CommandEngine
@testable import RecordStore

@Suite struct PostgreSQLStoreTests {
  // MARK: Round trips

  /// Loads of every part, and changes of every table.
  private static func everything(_ number: Int) throws -> StoreKeys {
    keys(
      messages: [try InboxKey("m\(number)")], records: [try id("r\(number)")], holders: [try holder("h\(number)")],
      groups: [try owner("g")], counters: [try counter("c")])
  }

  private static func changeEverything(
    _ number: Int, isChained: Bool, _ set: inout WorkingSet
  ) throws(StoreError) {
    if isChained { _ = try set.cells(of: counter("d")) }
    guard let id = RecordID(ticket, "r\(number)") else { return }
    try set.set(reply("x"), of: try InboxKey("m\(number)"))
    try set.put(
      Record(id, body: [1], dueAt: start, uniqueKeys: [try holder("h\(number)")], groupKeys: [try owner("g")]))
    set.count(try counter("c"), in: 1, keepUntil: start)
    try set.send(message("\(number)"))
  }

  @Test func `A batch takes two round trips and a commit, and a third one where look-ups chain`() async throws {
    try await PostgreSQLUnderTest.with { database in
      let store = try await database.open { $0.heartbeat = .seconds(3600) }
      var settlement = OutboxSettlement()
      for (number, trips) in [(1, 3), (2, 4)] {
        let before = store.connection.status.roundTrips
        let outcome = try await store.transact(
          try Self.everything(number), at: start, settling: settlement
        ) { set throws(StoreError) -> Void in try Self.changeEverything(number, isChained: number == 2, &set) }
        #expect(store.connection.status.roundTrips - before == trips)
        settlement = OutboxSettlement(finished: try stored(outcome).messages.map(\.number))
      }
      // What takes no look takes one and a commit, and what is one statement takes the commit along.
      var before = store.connection.status.roundTrips
      try await store.add { set throws(StoreError) in try set.send(message("x")) }
      #expect(store.connection.status.roundTrips - before == 2)
      before = store.connection.status.roundTrips
      try await store.settle(settlement)
      #expect(store.connection.status.roundTrips - before == 1)
      #expect(try await store.figures().messages == 1)
    }
  }

  @Test func `A session of anybody that holds a snapshot shows by the transactions since`() async throws {
    try await PostgreSQLUnderTest.with { database in
      let store = try await database.open()
      let (isHeld, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      async let holder: Void = database.administrate { session throws(StoreError) in
        try session.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        try session.run("SELECT 1")
        isHeld.signal()
        mayEnd.wait()
      }
      try await onNewThread { isHeld.wait() }
      for _ in 0..<30 {
        try await store.add { set throws(StoreError) in set.count(try counter("c"), in: 1, keepUntil: start) }
      }
      _ = try await store.figures()
      #expect(store.status.oldestSnapshot >= 30)
      mayEnd.signal()
      try await holder
      _ = try await store.figures()
      #expect(store.status.oldestSnapshot < 30)
    }
  }

  private static func meanwhile(
    _ sql: String, _ database: PostgreSQLUnderTest, _ server: PrivatePostgreSQL
  ) throws(StoreError) {
    do { _ = try server.psql("SET search_path = countersign; " + sql, database: database.endpoint.database) } catch {
      throw StoreError(.misuse, "\(error)")
    }
  }

  @Test func `A body runs again when another writer was faster, and then nobody is`() async throws {
    try await PostgreSQLUnderTest.with { database in
      let server = try await PrivatePostgreSQL.shared.server
      let (runs, pauses) = (Recorded(), Recorded())
      let store = try await database.open { $0.pause = { pauses.add($0) } }
      let a = try id("a")
      try await store.put(Record(a, body: [0]))
      let outcome = try await store.transact(keys(records: [a]), at: start) { set throws(StoreError) -> Int in
        let run = runs.count()
        if run == 1 {
          try Self.meanwhile("UPDATE store_record SET version = version + 1, body = '\\x05'", database, server)
        }
        guard var record = try set.record(a) else { return 0 }
        record.body[0] += 1
        try set.put(record)
        return run
      }
      #expect(try stored(outcome).value == 2)
      #expect(try await store.found(a)?.body == [6])
      #expect(pauses.all == [1])
      #expect(store.status.conflicts == ["changed": 1])
    }
  }

  @Test func `A transaction that meets competition in every attempt ends as a conflict`() async throws {
    try await PostgreSQLUnderTest.with { database in
      let server = try await PrivatePostgreSQL.shared.server
      let (runs, pauses) = (Recorded(), Recorded())
      let store = try await database.open { $0.pause = { pauses.add($0) } }
      let outcome = try await store.transact(at: start) { set throws(StoreError) -> Void in
        let run = runs.count()
        let key = try holder("\(run)")
        let bytes = key.bytes.map { byte in
          let digits = String(byte, radix: 16)
          return digits.count == 1 ? "0" + digits : digits
        }
        try Self.meanwhile(
          "INSERT INTO store_unique VALUES ('\\x\(bytes.joined())', 'another')", database, server)
        guard let id = RecordID(ticket, "a") else { return }
        try set.put(Record(id, body: [], uniqueKeys: [key]))
        try set.send(message("x"))
      }
      #expect(conflict(outcome) == .taken(holderSpace))
      #expect(runs.all.count == StoreLimits.maxAttempts)
      #expect(pauses.all == Array(1..<StoreLimits.maxAttempts))
      #expect(try await store.figures().messages == 0)
    }
  }

  @Test func `A message that another one answered while a second look went on is looked up again`() async throws {
    try await PostgreSQLUnderTest.with { database in
      let server = try await PrivatePostgreSQL.shared.server
      let store = try await database.open { $0.pause = { _ in } }
      let (key, looks) = (try InboxKey("m"), Recorded())
      let outcome = try await store.transact(keys(messages: [key]), at: start) { set throws(StoreError) in
        if looks.count() == 1 {
          try Self.meanwhile(
            "INSERT INTO store_inbox VALUES ('m', 1, '', 'done.v1', 'first', 99999999999999)", database, server)
        }
        _ = try set.cells(of: counter("c"))
        return try set.message(key)
      }
      guard case .replied(_, let body)? = try stored(outcome).value?.state else {
        Issue.record("the message was not seen")
        return
      }
      #expect(body == Array("first".utf8))
    }
  }

  @Test func `A lost session owns nothing, and what it had in hand is claimed by whoever comes first`() async throws {
    try await PostgreSQLUnderTest.with { database in
      let store = try await database.open { $0.heartbeat = .seconds(3600) }
      let other = try await database.open()
      let sent = try await store.add { set throws(StoreError) in
        for text in ["a", "b"] { try set.send(message(text)) }
      }
      #expect(await store.owned(sent) == sent)
      try await database.end(store)
      #expect(await store.owned(sent).isEmpty)
      let claimed = try await other.claimMessages(limit: 1, at: start)
      #expect(claimed.texts == ["a"] && claimed[0].mayBeOut)
      #expect(await other.owned(claimed) == claimed)
      // The new session of the same store is another owner, and may claim as well.
      let own = try await store.claimMessages(limit: 5, at: start)
      #expect(own.texts == ["b"])
      #expect(await store.owned(sent + own) == own)
      // What was out already goes, unless somebody else has it now.
      try await store.settle(OutboxSettlement(finished: sent.map(\.number)))
      #expect(try await store.figures().messages == 1)
      try await other.settle(OutboxSettlement(finished: claimed.map(\.number)))
      #expect(try await store.figures().messages == 0)
    }
  }

  @Test func `What was out when the session was lost is deleted by the next one, before anybody claims it`()
    async throws
  {
    try await PostgreSQLUnderTest.with { database in
      let store = try await database.open()
      let sent = try await store.add { set throws(StoreError) in try set.send(message("a")) }
      try await database.end(store)
      try await store.settle(OutboxSettlement(finished: sent.map(\.number)))
      #expect(try await store.figures().messages == 0)
    }
  }

  @Test func `A session that nobody has heard of for long owns nothing`() async throws {
    try await PostgreSQLUnderTest.with { database in
      let store = try await database.open { options in
        options.heartbeat = .seconds(3600)
        options.longestSilence = .zero
      }
      let sent = try await store.add { set throws(StoreError) in try set.send(message("a")) }
      #expect(await store.owned(sent).isEmpty)
    }
  }

  @Test func `A heartbeat replaces a lost session`() async throws {
    try await PostgreSQLUnderTest.with { database in
      let store = try await database.open { $0.heartbeat = .milliseconds(20) }
      let owner = store.owner.current.number
      try await database.end(store)
      for _ in 0..<6000 where store.owner.current.number == owner { try await Task.sleep(for: .milliseconds(10)) }
      #expect(store.owner.current.number > owner)
    }
  }

  @Test func `Dead owners that left nothing are forgotten`() async throws {
    try await PostgreSQLUnderTest.with { database in
      for _ in 0..<3 { await (try await database.open()).close() }
      let store = try await database.open()
      _ = try await store.claimMessages(limit: 9, at: start)
      let owners = try await database.change { session throws(StoreError) in
        try session.run("SELECT number FROM store_owner").count
      }
      #expect(owners == 1)
    }
  }

  @Test(arguments: 0..<3)
  func `A dead owner is found among living ones, whichever row of the table is its own`(place: Int) async throws {
    try await PostgreSQLUnderTest.with { database in
      var stores: [PostgreSQLStore] = []
      for number in 0..<3 {
        let store = try await database.open()
        // The rows lie in the order of the numbers, as those of a new table do.
        #expect(store.owner.current.number == Int64(number + 1))
        try await store.add { set throws(StoreError) in try set.send(message("\(number)")) }
        stores.append(store)
      }
      await stores.remove(at: place).close()
      let claimed = try await stores[0].claimMessages(limit: 9, at: start)
      #expect(claimed.texts == ["\(place)"] && claimed.allSatisfy(\.mayBeOut))
      #expect(try await stores[1].claimMessages(limit: 9, at: start).isEmpty)
      let owners = try await database.change { session throws(StoreError) in
        try session.run("SELECT number FROM store_owner").count
      }
      #expect(owners == 2)
    }
  }

  @Test func `A server that is away is told as that, also when it refused a session before`() async throws {
    try await PostgreSQLUnderTest.with { database in
      let server = try await PrivatePostgreSQL.shared.server
      let proxy = CuttingProxy(to: server.port)
      defer { proxy.stop() }
      var behind = database
      behind.endpoint = server.overTCP(database.endpoint)
      behind.endpoint.hosts = [ServerAddress(host: "127.0.0.1", port: proxy.port)]
      let store = try await behind.open { options in
        options.heartbeat = .seconds(3600)
        options.connections.reconnectDelay = .milliseconds(1)...(.milliseconds(1))
      }
      try await database.change { session throws(StoreError) -> Void in
        try session.run("UPDATE schema_version SET version = 0")
      }
      try await database.end(store)
      let settlement = OutboxSettlement(finished: [1])
      let refused = await #expect(throws: StoreError.self) { try await store.settle(settlement) }
      #expect(refused?.code == .schema)
      proxy.stop()
      var code = refused?.code
      for _ in 0..<20_000 where code == .schema {
        code = await #expect(throws: StoreError.self) { try await store.settle(settlement) }?.code
        try await Task.sleep(for: .milliseconds(1))
      }
      #expect(code == .unreachable)
    }
  }

  @Test func `A copy has the database to itself`() async throws {
    try await PostgreSQLUnderTest.with { database in
      let store = try await database.open()
      let busy = await #expect(throws: StoreError.self) { try await database.open { $0.isExclusive = true } }
      #expect(busy?.code == .busy)
      await store.close()
      let copy = try await database.open { $0.isExclusive = true }
      let late = await #expect(throws: StoreError.self) { try await database.open() }
      #expect(late?.code == .unavailable)
      await copy.close()
      _ = try await database.open()
    }
  }

  @Test func `A database belongs to its first service; another is refused by its name`() async throws {
    try await PostgreSQLUnderTest.with { database in
      for _ in 0..<2 { await (try database.open { $0.kind = .accounts }).close() }
      let error = await #expect(throws: StoreError.self) { try await database.open { $0.kind = .coordinator } }
      #expect(error?.code == .schema && error?.isRetriable == false)
      #expect(error?.message.contains("it is the database of accounts, not of the coordinator") == true)
    }
  }

  @Test func `Missing tables, and those of an earlier version, are refused with the command to run`() async throws {
    try await PostgreSQLUnderTest.with { database in
      for change in [
        "UPDATE schema_version SET version = 0", "UPDATE schema_version SET part = 'other'",
        "UPDATE schema_version SET part = 'store'",
      ] {
        try await database.change { session throws(StoreError) -> Void in try session.run(change) }
        let error = await #expect(throws: StoreError.self) { try await database.open() }
        #expect(error?.code == .schema)
        #expect(error?.isRetriable == false && error?.fault == .store)
        #expect(error?.message.contains("countersign store create") == true)
      }
    }
  }

  @Test
  func
    `Tables of a later version, which has only added to them, are used, and are left to the newer program to change`()
    async throws
  {
    try await PostgreSQLUnderTest.with { database in
      try await database.change { session throws(StoreError) -> Void in
        try session.run("UPDATE schema_version SET version = 99")
      }
      await (try database.open()).close()
      let error = await #expect(throws: StoreError.self) {
        try await database.change { session throws(StoreError) in
          try PostgreSQLSchema.update([StoreSchemaPostgreSQL.part], session)
        }
      }
      #expect(error?.code == .schema && error?.message.contains("run the newer program") == true)
    }
  }

  @Test func `Replies are searched in parts by the session itself, and the search of a canceled task is no result`()
    async throws
  {
    try await PostgreSQLUnderTest.with { database in
      let store = try await database.open { $0.heartbeat = .seconds(3600) }
      let count = 2 * PostgreSQLStore.searchedEntries + 1
      try await database.change { session throws(StoreError) -> Void in
        try session.run(
          """
          INSERT INTO store_inbox
          SELECT n::text::bytea, 1, '', 'x', CASE WHEN n % 1000 = 0 THEN 'number' ELSE '' END::bytea, 0
          FROM generate_series(1::bigint, $1) AS n
          """, [.integer(Int64(count))])
      }
      // Readers may be at a server that only reads.
      await store.readers.close()
      #expect(try await store.forget(repliesContaining: Array("other".utf8)) == 0)
      let canceled = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return try await store.forget(repliesContaining: Array("number".utf8))
      }
      await #expect(throws: StoreError.self) { try await canceled.value }
      #expect(try await store.forget(repliesContaining: Array("number".utf8)) == 2)
      let left = try await database.change { session throws(StoreError) in
        try session.run("SELECT count(*) FROM store_inbox")[0].int(0)
      }
      #expect(left == count - 2)
    }
  }

  /// Statements that run for each batch, round or claim, or for operators.
  static let statements = [
    PostgreSQLLoad.messages, PostgreSQLLoad.received, PostgreSQLLoad.records, PostgreSQLLoad.locks,
    PostgreSQLLoad.holders, PostgreSQLLoad.groups, PostgreSQLLoad.counters,
    PostgreSQLWrite.updateMessages, PostgreSQLWrite.insertMessages, PostgreSQLWrite.lockCounters,
    PostgreSQLWrite.forgetCounters, PostgreSQLWrite.addIncrements, PostgreSQLWrite.insertOutbox,
    PostgreSQLWrite.lockRecords, PostgreSQLWrite.deleteRecords, PostgreSQLWrite.updateRecords,
    PostgreSQLWrite.insertRecords, PostgreSQLWrite.freeKeys, PostgreSQLWrite.takeKeys, PostgreSQLWrite.leaveGroups,
    PostgreSQLWrite.joinGroups, PostgreSQLWrite.finish, PostgreSQLWrite.postpone, PostgreSQLDue.claim,
    PostgreSQLDue.purgeMessages, PostgreSQLDue.purgeCounters, PostgreSQLDue.isAnyRecordOver, PostgreSQLDue.recordsOver,
    PostgreSQLDue.putOff, PostgreSQLDue.delete, PostgreSQLDue.freeKeys, PostgreSQLDue.leaveGroups,
    PostgreSQLOutbox.look, PostgreSQLOutbox.claimDue, PostgreSQLOutbox.dead, PostgreSQLOutbox.claimLeft,
    PostgreSQLOutbox.held, PostgreSQLOutbox.forget, PostgreSQLStore.sums, PostgreSQLStore.countKeys,
    PostgreSQLStore.forgetReplies,
  ]

  @Test func `Every statement finds its rows by an index, in empty tables too`() async throws {
    try await PostgreSQLUnderTest.with { database in
      let server = try await PrivatePostgreSQL.shared.server
      let settings = PostgreSQLStoreOptions.settings.map { "SET \($0.key) = '\($0.value)';" }.joined(separator: "\n")
      var script = "SET search_path = countersign;\n\(settings)\n"
      for (number, statement) in Self.statements.enumerated() {
        let count = (1...9).last { statement.contains("$\($0)") } ?? 0
        let values = count == 0 ? "" : "(\(Array(repeating: "NULL", count: count).joined(separator: ", ")))"
        script += "PREPARE s\(number) AS \(statement);\nEXPLAIN EXECUTE s\(number)\(values);\n"
      }
      let plans = try await server.query(script, database: database.endpoint.database)
      #expect(plans.contains("Index"))
      for line in plans.split(separator: "\n") where line.contains("Seq Scan") {
        #expect(line.contains("store_owner") || line.contains("pg_database"), "\(line)")
      }
    }
  }
}

final class Recorded: Sendable {
  private let values = Mutex<[Int]>([])

  var all: [Int] { values.withLock { $0 } }

  func add(_ value: Int) { values.withLock { $0.append(value) } }

  func count() -> Int {
    values.withLock { values in
      values.append(values.count + 1)
      return values.count
    }
  }
}
