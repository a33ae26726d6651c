import CommandEngine
import CountersignTelemetry
import SQLite
import TestSupport
import Testing

/// Implementations of the store, each of which passes the same tests.
enum StoreUnderTest: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case sqlite, postgresql

  var testDescription: String { rawValue }

  /// Runs a test on empty data of its own, and closes the stores that it leaves open.
  func with(_ body: (SharedData) async throws -> Void) async throws {
    switch self {
    case .sqlite:
      try await StoreFile.with { file in
        try await body(
          SharedData {
            try await file.open()
          } spoil: {
            try await Self.spoil($0, in: file.path)
          })
      }
    case .postgresql:
      try await PostgreSQLUnderTest.with { database in
        try await body(
          SharedData {
            try await database.open()
          } spoil: {
            try await database.spoil($0)
          })
      }
    }
  }

  func withStore(_ body: (any Store) async throws -> Void) async throws {
    try await with { data in try await body(data.open()) }
  }

  static func open(_ path: String) async throws -> SQLiteStore {
    try await SQLiteStore.open(path: path, options: DatabaseOptions(synchronous: .normal))
  }

  /// Gives a row the layout of a later version.
  private static func spoil(_ id: RecordID, in path: String) async throws {
    let database = try await Database.open(path: path, migrations: [Migration(version: 1, sql: StoreSchema.sql)])
    let rows = try await database.write { session throws(StoreError) in
      try session.execute(
        "UPDATE store_record SET format = 99 WHERE kind = ? AND id = ?", [.text(id.kind.name), .text(id.text)])
    }
    await database.close()
    #expect(rows == 1)
  }

  static func withFile(_ body: (String) async throws -> Void) async throws {
    try await withTemporaryDirectory { try await body("\($0)/store.sqlite") }
  }
}

/// Data that several stores share, as processes share a database.
struct SharedData: Sendable {
  let open: @Sendable () async throws -> any Store
  let spoil: @Sendable (RecordID) async throws -> Void
}

let start = UnixTime(seconds: 1_782_907_200)
let ticket = RecordKind("ticket")
let holderSpace = KeySpace(ticket, "holder")
let ownerSpace = KeySpace(ticket, "owner")

func id(_ text: String, _ kind: RecordKind = ticket) throws -> RecordID { try #require(RecordID(kind, text)) }

func holder(_ text: String) throws(StoreError) -> UniqueKey { try UniqueKey(holderSpace, Array(text.utf8)) }

func owner(_ text: String) throws(StoreError) -> GroupKey { try GroupKey(ownerSpace, Array(text.utf8)) }

func counter(_ text: String) throws(StoreError) -> CounterKey { try CounterKey(Array(text.utf8)) }

func reply(_ text: String, keptFor time: Duration = .seconds(60)) -> InboxEntry {
  InboxEntry(.replied(type: "done.v1", body: Array(text.utf8)), fingerprint: [1, 2, 3], keepUntil: start + time)
}

func message(_ text: String, hold: OutboxMessage.Hold? = nil) -> OutboxMessage {
  OutboxMessage(type: "job.v1", content: Array(text.utf8), hold: hold)
}

func keys(
  messages: [InboxKey] = [], records: [RecordID] = [], holders: [UniqueKey] = [], groups: [GroupKey] = [],
  counters: [CounterKey] = []
) -> StoreKeys {
  var keys = StoreKeys()
  for key in messages { keys.add(message: key) }
  for id in records { keys.add(record: id) }
  for key in holders { keys.add(holderOf: key) }
  for key in groups { keys.add(group: key) }
  for key in counters { keys.add(counter: key, since: 0) }
  return keys
}

extension Store {
  @discardableResult
  func add(
    at now: UnixTime = start, _ body: @escaping @Sendable (inout WorkingSet) throws(StoreError) -> Void
  ) async throws -> [StoredMessage] {
    try stored(try await transact(at: now, body)).messages
  }

  func put(_ record: Record) async throws {
    try await add { set throws(StoreError) in try set.put(record) }
  }

  func found(_ id: RecordID) async throws -> Record? {
    try await read(keys(records: [id]), at: start).record(id)
  }
}

extension WorkingSet {
  func cells(of key: CounterKey) throws(StoreError) -> [CounterCell] { cells(of: key, since: 0) }
}

func stored<Value>(
  _ outcome: StoreOutcome<Value>, sourceLocation: SourceLocation = #_sourceLocation
) throws -> (value: Value, messages: [StoredMessage]) {
  guard case .stored(let value, let messages) = outcome else {
    throw UnexpectedConflict()
  }
  return (value, messages)
}

func conflict<Value>(_ outcome: StoreOutcome<Value>) -> StoreConflict? {
  if case .conflict(let conflict) = outcome { conflict } else { nil }
}

struct UnexpectedConflict: Error {}

extension [StoredMessage] {
  var texts: [String] { map { String(decoding: $0.message.content, as: UTF8.self) } }
}
