import CountersignTelemetry
import Glibc
import PostgreSQL
import SQLite
import Synchronization
import TestSupport
import Testing

@testable import CommandEngine
@testable import RecordStore

/// A service's data is copied from a file into a database of a server, and back.
@Suite(.onSharedServer) struct StoreCopyTests {
  enum Direction: CaseIterable {
    case toServer, toFile
  }

  /// A file and a database of one service, neither of which is open.
  private struct Sides {
    let direction: Direction
    let path: String
    let server: PostgreSQLUnderTest

    var file: StoreCopy.Place { .file(path) }
    var database: StoreCopy.Place { database() }

    func database(_ change: (inout PostgreSQLOptions) -> Void = { _ in }) -> StoreCopy.Place {
      var options = PostgreSQLOptions.patient
      change(&options)
      return .database(server.endpoint, options)
    }

    func copy(
      beginsAnew: Bool = false, _ change: (inout PostgreSQLOptions) -> Void = { _ in }
    ) -> StoreCopy {
      switch direction {
      case .toServer: StoreCopy(from: file, to: database(change), beginsAnew: beginsAnew)
      case .toFile: StoreCopy(from: database(change), to: file, beginsAnew: beginsAnew)
      }
    }

    func withSource<Value>(_ body: (any Store) async throws -> Value) async throws -> Value {
      try await direction == .toServer ? withFile(body) : withServer(body)
    }

    func withTarget<Value>(_ body: (any Store) async throws -> Value) async throws -> Value {
      try await direction == .toServer ? withServer(body) : withFile(body)
    }

    /// Opens the file as a process of accounts does.
    func withFile<Value>(_ body: (any Store) async throws -> Value) async throws -> Value {
      let database = try await Database.open(path: path, kind: .accounts, migrations: ServiceSchema.migrations)
      let store = try await SQLiteStore(in: database)
      let result: Result<Value, any Error>
      do {
        try await store.endCopy()
        result = .success(try await body(store))
      } catch { result = .failure(error) }
      await store.close()
      await database.close()
      return try result.get()
    }

    func withServer<Value>(_ body: (any Store) async throws -> Value) async throws -> Value {
      let store = try await server.open { $0.kind = .accounts }
      let result: Result<Value, any Error>
      do {
        try await store.endCopy()
        result = .success(try await body(store))
      } catch { result = .failure(error) }
      await store.close()
      return try result.get()
    }
  }

  private func with(_ direction: Direction, _ body: (Sides) async throws -> Void) async throws {
    try await StoreUnderTest.withFile { path in
      defer { unlink(path + "-lock") }
      try await PostgreSQLUnderTest.with { server in
        try await body(Sides(direction: direction, path: path, server: server))
      }
    }
  }

  private static let count = StoreCopy.pageRows + 90

  private func fill(_ store: any Store, large: Int? = nil) async throws {
    for first in stride(from: 0, to: Self.count, by: 200) {
      try await store.add { set throws(StoreError) in
        for number in first..<min(first + 200, Self.count) {
          let name = format(number)
          guard let id = RecordID(ticket, name) else { return }
          try set.put(
            Record(
              id, body: number == large ? [UInt8](repeating: 7, count: 20_000) : [UInt8(number & 0xFF), 0],
              dueAt: number % 3 == 0 ? start : nil, discardAt: start + .seconds(9), uniqueKeys: [try holder(name)],
              groupKeys: [try owner("\(number % 2)")]))
          set.count(try counter("c\(number % 7)"), in: Int64(number), by: 3, keepUntil: start)
        }
      }
    }
    let load = keys(messages: [try InboxKey("a\u{0}ü"), try InboxKey("b"), try InboxKey("c")])
    let held = OutboxMessage.Hold(untilReplyTo: try InboxKey("b"), orAt: start + .seconds(30))
    let messages = try stored(
      try await store.transact(load, at: start) { set throws(StoreError) -> Void in
        try set.set(reply("ünï\u{0}"), of: InboxKey("a\u{0}ü"))
        try set.set(InboxEntry(.reserved, fingerprint: [], keepUntil: start), of: InboxKey("b"))
        try set.set(InboxEntry(.unrecorded(note: [1, 0]), fingerprint: [9], keepUntil: start), of: InboxKey("c"))
        try set.send(message("in hand"))
        try set.send(message("put off"))
        try set.send(message("held", hold: held))
      }
    ).messages
    var settlement = OutboxSettlement()
    settlement.postponed[try #require(messages.last).number] = start + .seconds(5)
    try await store.settle(settlement)
  }

  private func format(_ number: Int) -> String { "r" + String(10_000 + number) }

  private func error(_ body: () async throws -> some Any) async -> StoreError? {
    await #expect(throws: StoreError.self) { _ = try await body() }
  }

  @Test(arguments: Direction.allCases)
  func `Everything arrives, and the next process goes on with it`(_ direction: Direction) async throws {
    try await with(direction) { sides in
      try await sides.withSource { try await fill($0) }
      let before = try await sides.copy().preview()
      #expect(before.map(\.rows) == [0, 0, 0, 0, 0, 0])
      #expect(before.map(\.all) == [3, Self.count, Self.count, Self.count, Self.count, 3])
      let steps = Mutex<[StoreCopy.Step]>([])
      let parts = try await sides.copy().run { step in steps.withLock { $0.append(step) } }
      #expect(parts.map(\.rows) == before.map(\.all) && parts.map(\.all) == before.map(\.all))
      let records = steps.withLock { $0 }.compactMap { step in
        if case .copied(let part) = step, part.table == "store_record" { part.rows } else { nil }
      }
      #expect(records == [StoreCopy.pageRows, Self.count])
      try await sides.withTarget { store in try await check(store) }
      // The source is the service's own again.
      let kept = try await sides.withSource { try await $0.found(try id(format(1))) }
      #expect(kept?.body == [1, 0])
    }
  }

  private func check(_ store: any Store) async throws {
    let first = try InboxKey("a\u{0}ü")
    let last = format(Self.count - 1)
    let load = keys(
      messages: [first, try InboxKey("b"), try InboxKey("c")], records: [try id(last)],
      holders: [try holder(format(7))],
      groups: [try owner("1")], counters: [try counter("c3")])
    let set = try await store.read(load, at: start)
    #expect(try set.message(first) == reply("ünï\u{0}"))
    #expect(try set.message(InboxKey("b"))?.state == .reserved)
    #expect(try set.message(InboxKey("c"))?.state == .unrecorded(note: [1, 0]))
    let record = try #require(try set.record(id(last)))
    #expect(record.discardAt == start + .seconds(9))
    #expect(try record.groupKeys == [owner("1")])
    #expect(try set.holder(of: holder(format(7)))?.id.text == format(7))
    #expect(try set.group(owner("1")).records.first?.id.text == format(1))
    #expect(try set.cells(of: counter("c3")).last?.count == 3)
    #expect(try await store.count(ownerSpace) == Self.count)
    let claimed = try await store.claimMessages(limit: 9, at: start)
    #expect(claimed.texts.sorted() == ["in hand", "put off"], "all that a dead process left but what it held")
    #expect(claimed.contains { $0.mayBeOut })
    #expect(try await store.release(heldBy: [InboxKey("b")], at: start).texts == ["held"])
    // New rows get numbers of their own.
    let sent = try await store.add { set throws(StoreError) in
      try set.send(message("new"))
      guard let id = RecordID(ticket, "new") else { return }
      try set.put(Record(id, body: [1], uniqueKeys: [try holder("new")]))
    }
    #expect(try #require(sent.first).number > (claimed.map(\.number).max() ?? 0))
    let taken = try await store.transact(at: start) { set throws(StoreError) -> Void in
      guard let id = RecordID(ticket, "rival") else { return }
      try set.put(Record(id, body: [1], uniqueKeys: [try holder(format(7))]))
    }
    #expect(conflict(taken) == .taken(holderSpace))
  }

  @Test func `Rows that this version cannot read are copied as they are`() async throws {
    try await with(.toServer) { sides in
      try await sides.withFile { store in
        try await store.put(Record(try id("later"), body: [1], uniqueKeys: [try holder("x")]))
        let sqlite = try #require(store as? SQLiteStore)
        try await sqlite.change { session throws(StoreError) -> Void in
          try session.execute("UPDATE store_record SET format = 99")
        }
      }
      _ = try await sides.copy().run { _ in }
      try await sides.withServer { store in
        let set = try await store.read(keys(records: [try id("later")]), at: start)
        #expect(throws: StoreError.self) { try set.record(id("later")) }
      }
    }
  }

  @Test(arguments: Direction.allCases)
  func `Interrupted, it goes on where it was, and no process starts on a part`(
    _ direction: Direction
  ) async throws {
    try await with(direction) { sides in
      // The last rows of the table do not fit.
      try await sides.withSource { try await fill($0, large: Self.count - 1) }
      let stopped = await error { try await sides.copy { $0.maxValueBytes = 1 << 14 }.run { _ in } }
      #expect(stopped?.code == .tooLarge)
      let part = await error { try await sides.withTarget { _ in } }
      #expect(part?.code == .schema && part?.message.contains("run 'countersign store copy' again") == true)
      let preview = try await sides.copy().preview()
      #expect(preview[0].rows == 3 && preview[1].rows == Self.count - 1 && preview[2].rows == 0)
      let steps = Mutex<[StoreCopy.Step]>([])
      _ = try await sides.copy().run { step in steps.withLock { $0.append(step) } }
      let begun = StoreCopy.Part(table: "store_record", rows: Self.count, all: Self.count)
      #expect(steps.withLock { $0.first } == .copied(begun), "one row was left of the second table")
      try await sides.withTarget { store in try await check(store) }
    }
  }

  @Test func `An interrupted copy is given up by --anew, which deletes what it wrote`() async throws {
    try await with(.toFile) { sides in
      try await sides.withServer { try await fill($0, large: 300) }
      _ = await error { try await sides.copy { $0.maxValueBytes = 1 << 14 }.run { _ in } }
      try await StoreUnderTest.withFile { elsewhere in
        defer { unlink(elsewhere + "-lock") }
        let place = StoreCopy.Place.file(elsewhere)
        let refused = await error { try await StoreCopy(from: sides.database, to: place).run { _ in } }
        #expect(refused?.code == .content && refused?.message.contains("into \(sides.path) has begun") == true)
        #expect(refused?.message.contains("--anew") == true)
        _ = try await StoreCopy(from: sides.database, to: place, beginsAnew: true).run { _ in }
      }
      // Rows of the copy that was given up belong to no copy.
      let refused = await error { try await sides.copy().run { _ in } }
      #expect(refused?.message.contains("whose copy was given up") == true)
      let steps = Mutex<[StoreCopy.Step]>([])
      _ = try await sides.copy(beginsAnew: true).run { step in steps.withLock { $0.append(step) } }
      #expect(steps.withLock { $0.first } == .clearing)
      try await sides.withFile { store in try await check(store) }
    }
  }

  @Test func `A process that starts on the source gives an interrupted copy up`() async throws {
    try await with(.toServer) { sides in
      try await sides.withFile { try await fill($0, large: 300) }
      _ = await error { try await sides.copy { $0.maxValueBytes = 1 << 14 }.run { _ in } }
      try await sides.withFile { try await $0.put(Record(try id("a"), body: [1])) }
      let refused = await error { try await sides.copy().run { _ in } }
      #expect(refused?.message.contains("was given up") == true)
      _ = try await sides.copy(beginsAnew: true).run { _ in }
      let found = try await sides.withServer { try await $0.found(try id("a")) }
      #expect(found?.body == [1])
    }
  }

  @Test func `Content that differs in the end is told, and no process starts on it`() async throws {
    try await with(.toServer) { sides in
      try await sides.withFile { try await fill($0, large: Self.count - 1) }
      _ = await error { try await sides.copy { $0.maxValueBytes = 1 << 14 }.run { _ in } }
      try await sides.server.change { session throws(StoreError) -> Void in
        try session.run("UPDATE store_record SET body = '' WHERE id = 'r10005'")
      }
      let differs = await error { try await sides.copy().run { _ in } }
      #expect(differs?.code == .content && differs?.message.contains("--anew") == true)
      #expect(await error { try await sides.withServer { _ in } }?.code == .schema)
    }
  }

  @Test(arguments: Direction.allCases)
  func `Beside a process on either side it refuses`(_ direction: Direction) async throws {
    try await with(direction) { sides in
      try await sides.withSource { try await $0.put(Record(try id("a"), body: [1])) }
      do {
        let owner = try #require(try FileOwner.claim(sides.path))
        let held = await error { try await sides.copy().run { _ in } }
        #expect(held?.code == .busy && held?.message.contains("a process has \(sides.path)") == true)
        withExtendedLifetime(owner) {}
      }
      let living = try await sides.server.open()
      #expect(await error { try await sides.copy().run { _ in } }?.code == .busy)
      await living.close()
      _ = try await sides.copy().run { _ in }
    }
  }

  @Test(arguments: Direction.allCases)
  func `A place with data is refused, a source that none has used, and one of another service`(
    _ direction: Direction
  ) async throws {
    try await with(direction) { sides in
      let unused = await error { try await sides.copy().run { _ in } }
      #expect(unused?.code == .content)
      try await sides.withSource { try await $0.put(Record(try id("a"), body: [1])) }
      _ = try await sides.copy().run { _ in }
      for isDry in [true, false] {
        let again = await error {
          _ = try await isDry ? sides.copy().preview() : sides.copy().run { _ in }
        }
        #expect(again?.code == .content && again?.message.contains("holds data already") == true)
      }
    }
    try await with(direction) { sides in
      try await sides.withSource { try await $0.put(Record(try id("a"), body: [1])) }
      switch direction {
      case .toServer:
        await (try sides.server.open { $0.kind = .coordinator }).close()
      case .toFile:
        let other = try await Database.open(
          path: sides.path, kind: .coordinator, migrations: ServiceSchema.migrations)
        await other.close()
      }
      let refused = await error { try await sides.copy().run { _ in } }
      #expect(refused?.message.contains("the coordinator") == true, "\(String(describing: refused))")
    }
  }

  @Test func `A file of another program is left as it is`() async throws {
    try await with(.toFile) { sides in
      try await sides.withServer { try await $0.put(Record(try id("a"), body: [1])) }
      let other = try await Database.open(
        path: sides.path, migrations: [Migration(version: 1, sql: "CREATE TABLE mine (a)")])
      await other.close()
      let refused = await error { try await sides.copy().run { _ in } }
      #expect(refused?.code == .content && refused?.message.contains("the file of another program") == true)
    }
  }
}
