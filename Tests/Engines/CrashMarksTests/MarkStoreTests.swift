import CountersignAMQP
import CountersignTelemetry
import PostgreSQL
import RecordStore
import SQLite
import TestSupport
import Testing

@testable import CrashMarks

extension TableKind {
  /// Runs a test on empty data of its own, with a function that opens one more store.
  fileprivate func with(_ body: (@Sendable () async throws -> RecordMarks) async throws -> Void) async throws {
    try await with(.marks, of: .marks, hasOwners: true) { open in try await body { RecordMarks(try await open()) } }
  }
}

@Suite struct MarkStoreTests {
  private static let start = UnixTime(seconds: 1_790_000_000)

  private static func key(_ id: String) -> MessageKey {
    MessageKey(Delivery(message: Message(messageID: id)), queue: "q")
  }

  private static func mark(_ key: MessageKey, _ standing: MarkStanding?, isAlone: Bool) -> NewMark {
    NewMark(key: key, standing: standing ?? MarkStanding(), isAlone: isAlone)
  }

  @Test(arguments: TableKind.allCases)
  func `A mark counts when its owner is gone`(_ kind: TableKind) async throws {
    try await kind.with { open in
      let key = Self.key("1")
      let witness = try await open()
      var dying: RecordMarks? = try await open()
      try await dying?.write([Self.mark(key, nil, isAlone: false)], at: Self.start)
      #expect(try await witness.find([key])[key]?.isSuspect == false)
      // The lock goes with the open file, as it does when the kernel closes it.
      await dying?.close()
      dying = nil
      let standing = try #require(try await witness.find([key])[key])
      #expect(standing.isSuspect && standing.isFound)
      #expect(standing.deaths == 0)
      #expect(standing.begun == 1)
      await witness.close()
    }
  }

  @Test(arguments: TableKind.allCases)
  func `Three deaths alone bury and no fewer`(_ kind: TableKind) async throws {
    try await kind.with { open in
      let key = Self.key("1")
      var treatments: [MarkTreatment] = []
      for _ in 0..<6 {
        let store = try await open()
        let standing = try await store.find([key])[key] ?? MarkStanding()
        let treatment = MarkPlan.treatment(standing)
        treatments.append(treatment)
        try await store.write([Self.mark(key, standing, isAlone: treatment != .group)], at: Self.start)
        await store.close()
      }
      #expect(treatments == [.group, .alone, .alone, .alone, .bury, .leave])
    }
  }

  @Test(arguments: TableKind.allCases)
  func `A death beside others does not count`(_ kind: TableKind) async throws {
    try await kind.with { open in
      let key = Self.key("1")
      for _ in 0..<6 {
        let store = try await open()
        let standing = try await store.find([key])[key] ?? MarkStanding()
        try await store.write([Self.mark(key, standing, isAlone: true)], at: Self.start)
        try await store.relax(key)
        await store.close()
      }
      let store = try await open()
      let standing = try #require(try await store.find([key])[key])
      #expect(standing.deaths == 0)
      #expect(MarkPlan.treatment(standing) == .alone)
      await store.close()
    }
  }

  @Test(arguments: TableKind.allCases)
  func `An end in order keeps what is known and adds nothing`(_ kind: TableKind) async throws {
    try await kind.with { open in
      let (innocent, suspect) = (Self.key("1"), Self.key("2"))
      var dying: RecordMarks? = try await open()
      try await dying?.write([Self.mark(suspect, nil, isAlone: false)], at: Self.start)
      await dying?.close()
      dying = nil
      for _ in 0..<3 {
        let store = try await open()
        let standing = try await store.find([suspect])[suspect]
        #expect(standing?.isSuspect == true)
        try await store.write(
          [Self.mark(innocent, nil, isAlone: false), Self.mark(suspect, standing, isAlone: true)], at: Self.start)
        try await store.release()
        await store.close()
      }
      let last = try await open()
      let found = try await last.find([innocent, suspect])
      #expect(found[innocent] == nil)
      #expect(found[suspect]?.isSuspect == true)
      #expect(found[suspect]?.deaths == 0)
      await last.close()
    }
  }

  @Test(arguments: TableKind.allCases)
  func `Settled messages leave no mark`(_ kind: TableKind) async throws {
    try await kind.with { open in
      let key = Self.key("1")
      let store = try await open()
      try await store.write([Self.mark(key, nil, isAlone: false)], at: Self.start)
      #expect(try await store.find([key])[key]?.begun == 1)
      try await store.remove([key])
      try await store.relax(key)
      try await store.giveBack([key])
      #expect(try await store.find([key]).isEmpty)
      await store.close()
    }
  }

  @Test(arguments: TableKind.allCases)
  func `Old marks and too many go`(_ kind: TableKind) async throws {
    try await kind.with { open in
      let store = try await open()
      let old = Self.key("old")
      try await store.write([Self.mark(old, nil, isAlone: false)], at: Self.start)
      let later = Self.start + RecordMarks.retention + .seconds(1)
      let keys = (0..<RecordMarks.maxRows + 10).map { Self.key("\($0)") }
      try await store.write(keys.prefix(10).map { Self.mark($0, nil, isAlone: false) }, at: later)
      #expect(try await store.find([old]).isEmpty)
      #expect(try await store.find(keys).count == 10)
      for start in stride(from: 10, to: keys.count, by: 512) {
        let some = keys[start..<min(start + 512, keys.count)]
        try await store.write(some.map { Self.mark($0, nil, isAlone: false) }, at: later + .seconds(1))
      }
      #expect(try await store.find(Array(keys.prefix(10))).isEmpty)
      #expect(try await store.find(keys).count == RecordMarks.maxRows)
      await store.close()
    }
  }

  @Test func `A process that has lost its session takes its marks along: it has not died`() async throws {
    try await PrivatePostgreSQL.admit {
      let endpoint = try await PrivatePostgreSQL.shared.database(with: [RecordPlace.marks.part])
      let key = Self.key("1")
      let (store, witness) = (
        try await RecordMarks.open(endpoint), try await RecordMarks.open(endpoint)
      )
      try await store.write([Self.mark(key, nil, isAlone: true)], at: Self.start)
      try await PrivatePostgreSQL.shared.server.query(
        """
        SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
        WHERE datname = '\(endpoint.database)' AND pid <> pg_backend_pid()
        """)
      // Whatever the process asks next.
      #expect(try await store.find([key])[key]?.isSuspect == false)
      let standing = try #require(try await witness.find([key])[key])
      #expect(!standing.isSuspect && standing.deaths == 0 && standing.begun == 1)
      try await store.remove([key])
      #expect(try await witness.find([key]).isEmpty)
      await store.close()
      await witness.close()
    }
  }

  @Test func `A server that is away may be waited for, missing tables may not`() async throws {
    try await PrivatePostgreSQL.admit {
      var endpoint = try await PrivatePostgreSQL.shared.database()
      let missing = await #expect(throws: StoreError.self) { try await RecordMarks.open(endpoint) }
      #expect(missing?.isRetriable == false)
      #expect(missing?.description.contains("countersign store create") == true)
      endpoint.hosts = [ServerAddress(host: "/nonexistent")]
      let away = await #expect(throws: StoreError.self) { try await RecordMarks.open(endpoint) }
      #expect(away?.isRetriable == true)
    }
  }

  @Test func `A mark that is given back takes the place of what was known, and any bytes are a key`() async throws {
    for kind in TableKind.allCases {
      try await kind.with { open in
        let key = Self.key("\u{0}é")
        let store = try await open()
        for _ in 0..<2 {
          let standing = try await store.find([key])[key]
          try await store.write([Self.mark(key, standing, isAlone: false)], at: Self.start)
          try await store.giveBack([key])
        }
        #expect(try await store.find([key])[key]?.begun == 2)
        await store.close()
      }
    }
  }
}
