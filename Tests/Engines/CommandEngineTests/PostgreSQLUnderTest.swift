import PostgreSQL
import Synchronization
import TestSupport
import Testing

@testable import CommandEngine
@testable import RecordStore

struct PostgreSQLUnderTest: Sendable {
  var endpoint: PostgreSQLEndpoint
  private let opened = Opened()

  /// Runs a test on empty tables of its own, and closes the stores that it leaves open.
  static func with(_ body: (PostgreSQLUnderTest) async throws -> Void) async throws {
    try await PrivatePostgreSQL.admit {
      let database = PostgreSQLUnderTest(endpoint: try await endpoint())
      let result: Result<Void, any Error>
      do { result = .success(try await body(database)) } catch { result = .failure(error) }
      for store in await opened(database) { await store.close() }
      try result.get()
      unused.withLock { $0.append(database.endpoint) }
    }
  }

  /// Databases that a test has used: one is emptied faster than made.
  private static let unused = Mutex<[PostgreSQLEndpoint]>([])

  private static func endpoint() async throws -> PostgreSQLEndpoint {
    if let used = unused.withLock({ $0.popLast() }) {
      try await run(used) { session throws(StoreError) in
        try session.script(
          """
          TRUNCATE \(PostgreSQLStore.tables.joined(separator: ", ")), store_owner, store_member,
            store_service, store_copy;
          UPDATE schema_version SET version = \(StoreSchemaPostgreSQL.part.version);
          ALTER SEQUENCE store_owner_seq RESTART;
          ALTER SEQUENCE store_outbox_seq RESTART;
          """)
      }
      return used
    }
    return try await PrivatePostgreSQL.shared.storeDatabase()
  }

  private static func opened(_ database: PostgreSQLUnderTest) async -> [PostgreSQLStore] {
    await database.opened.stores
  }

  private actor Opened {
    var stores: [PostgreSQLStore] = []
    func add(_ store: PostgreSQLStore) { stores.append(store) }
  }

  /// Opens one more store, with limits that a busy machine does not reach.
  func open(_ change: (inout PostgreSQLStoreOptions) -> Void = { _ in }) async throws -> PostgreSQLStore {
    var connections = PostgreSQLOptions.patient
    connections.maxReaders = 1
    var options = PostgreSQLStoreOptions(connections)
    options.longestSilence = .patience
    change(&options)
    let store = try await PostgreSQLStore.connect(endpoint, options)
    await opened.add(store)
    return store
  }

  /// Runs a body as the owner of the tables, in a transaction.
  @discardableResult
  func change<Value: Sendable>(
    _ body: @escaping @Sendable (PostgreSQLSession) throws(StoreError) -> Value
  ) async throws -> Value {
    try await Self.run(endpoint, body)
  }

  /// The same as the server's administrator.
  @discardableResult
  func administrate<Value: Sendable>(
    _ body: @escaping @Sendable (PostgreSQLSession) throws(StoreError) -> Value
  ) async throws -> Value {
    try await Self.run(try await PrivatePostgreSQL.shared.administrator(of: endpoint), body)
  }

  private static func run<Value: Sendable>(
    _ endpoint: PostgreSQLEndpoint,
    _ body: @escaping @Sendable (PostgreSQLSession) throws(StoreError) -> Value
  ) async throws -> Value {
    let connection = try PostgreSQLConnection(endpoint, options: .patient)
    let result: Result<Value, any Error>
    do { result = .success(try await connection.withTransaction(body)) } catch { result = .failure(error) }
    await connection.close()
    return try result.get()
  }

  /// Ends the session of a store, as an administrator does, and waits for that.
  func end(_ store: PostgreSQLStore) async throws {
    let process = store.owner.current.process
    try await administrate { session throws(StoreError) -> Void in
      let isOver = try session.run(
        "SELECT pg_terminate_backend($1::bigint::integer, 60000)", [.integer(Int64(process))])
      #expect(try isOver[0].bool(0))
    }
  }

  func waitForEnd(of process: Int) async throws {
    try await eventually("the end of the session") {
      try await administrate { session throws(StoreError) in
        try session.run("SELECT FROM pg_stat_activity WHERE pid = $1::bigint", [.integer(Int64(process))]).isEmpty
      }
    }
  }

  /// Gives a row the layout of a later version.
  func spoil(_ id: RecordID) async throws {
    let rows = try await change { session throws(StoreError) in
      try session.run(
        "UPDATE store_record SET format = 99 WHERE kind = $1 AND id = $2", [.text(id.kind.name), .text(id.text)]
      ).affected
    }
    #expect(rows == 1)
  }
}
