import CountersignAMQP
import CountersignTelemetry
import FoundationEssentials
import SQLite
import Testing

@testable import CrashMarks

@Suite struct SQLiteMarkStoreTests {
  private static let start = UnixTime(seconds: 1_790_000_000)

  private static func with(_ body: (_ path: String) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "marks-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    try await body(directory.appending(path: "marks.sqlite").path(percentEncoded: false))
  }

  private static func key(_ id: String) -> MessageKey {
    MessageKey(Delivery(message: Message(messageID: id)), queue: "q")
  }

  private static func mark(_ key: MessageKey, _ standing: MarkStanding?, isAlone: Bool) -> NewMark {
    NewMark(key: key, standing: standing ?? MarkStanding(), isAlone: isAlone)
  }

  @Test("A mark counts when its owner is gone") func aMarkCountsWhenItsOwnerIsGone() async throws {
    try await Self.with { path in
      let key = Self.key("1")
      let witness = try await SQLiteMarkStore.open(path: path)
      var dying: SQLiteMarkStore? = try await SQLiteMarkStore.open(path: path)
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

  @Test("Three deaths alone bury and no fewer") func threeDeathsAloneBuryAndNoFewer() async throws {
    try await Self.with { path in
      let key = Self.key("1")
      var treatments: [MarkTreatment] = []
      for _ in 0..<6 {
        let store = try await SQLiteMarkStore.open(path: path)
        let standing = try await store.find([key])[key] ?? MarkStanding()
        let treatment = MarkPlan.treatment(standing)
        treatments.append(treatment)
        try await store.write([Self.mark(key, standing, isAlone: treatment != .group)], at: Self.start)
        await store.close()
      }
      #expect(treatments == [.group, .alone, .alone, .alone, .bury, .leave])
    }
  }

  @Test("A death beside others does not count") func aDeathBesideOthersDoesNotCount() async throws {
    try await Self.with { path in
      let key = Self.key("1")
      for _ in 0..<6 {
        let store = try await SQLiteMarkStore.open(path: path)
        let standing = try await store.find([key])[key] ?? MarkStanding()
        try await store.write([Self.mark(key, standing, isAlone: true)], at: Self.start)
        try await store.relax(key)
        await store.close()
      }
      let store = try await SQLiteMarkStore.open(path: path)
      let standing = try #require(try await store.find([key])[key])
      #expect(standing.deaths == 0)
      #expect(MarkPlan.treatment(standing) == .alone)
      await store.close()
    }
  }

  @Test("An end in order keeps what is known and adds nothing") func anEndInOrderKeepsWhatIsKnownAndAddsNothing()
    async throws
  {
    try await Self.with { path in
      let (innocent, suspect) = (Self.key("1"), Self.key("2"))
      var dying: SQLiteMarkStore? = try await SQLiteMarkStore.open(path: path)
      try await dying?.write([Self.mark(suspect, nil, isAlone: false)], at: Self.start)
      await dying?.close()
      dying = nil
      for _ in 0..<3 {
        let store = try await SQLiteMarkStore.open(path: path)
        let standing = try await store.find([suspect])[suspect]
        #expect(standing?.isSuspect == true)
        try await store.write(
          [Self.mark(innocent, nil, isAlone: false), Self.mark(suspect, standing, isAlone: true)], at: Self.start)
        try await store.release()
        await store.close()
      }
      let last = try await SQLiteMarkStore.open(path: path)
      let found = try await last.find([innocent, suspect])
      #expect(found[innocent] == nil)
      #expect(found[suspect]?.isSuspect == true)
      #expect(found[suspect]?.deaths == 0)
      await last.close()
    }
  }

  @Test("Settled messages leave no mark") func settledMessagesLeaveNoMark() async throws {
    try await Self.with { path in
      let key = Self.key("1")
      let store = try await SQLiteMarkStore.open(path: path)
      try await store.write([Self.mark(key, nil, isAlone: false)], at: Self.start)
      #expect(try await store.find([key])[key]?.begun == 1)
      try await store.remove([key])
      #expect(try await store.find([key]).isEmpty)
      await store.close()
    }
  }

  @Test("Old marks and too many go") func oldMarksAndTooManyGo() async throws {
    try await Self.with { path in
      let store = try await SQLiteMarkStore.open(path: path)
      let old = Self.key("old")
      try await store.write([Self.mark(old, nil, isAlone: false)], at: Self.start)
      let later = Self.start + SQLiteMarkStore.retention + .seconds(1)
      let keys = (0..<SQLiteMarkStore.maxRows + 10).map { Self.key("\($0)") }
      try await store.write([Self.mark(keys[0], nil, isAlone: false)], at: later)
      #expect(try await store.find([old]).isEmpty)
      try await store.write(keys.map { Self.mark($0, nil, isAlone: false) }, at: later + .seconds(1))
      try await store.write([], at: later + .seconds(1))
      #expect(try await store.find(keys).count == SQLiteMarkStore.maxRows)
      await store.close()
    }
  }
}
