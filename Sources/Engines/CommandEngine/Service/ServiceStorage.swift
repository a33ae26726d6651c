public import CountersignTelemetry
public import CrashMarks
public import SQLite
import ServiceRuntime

/// The opened database of a stateful service.
public protocol ServiceStorage: Sendable {
  /// Whether other processes of the service may use it at the same time.
  var isShared: Bool { get }
  /// The clock that all processes on the database go by.
  var clock: any WallClock { get }
  /// State of the session with a shared database; `nil` for one that no other process shares.
  var session: (@Sendable () -> SessionState)? { get }
  /// The processes that have the database.
  var members: any MemberRegister { get }
  /// Remedy for `/readyz` while it takes no writes.
  var hint: String { get }

  /// Makes the store, with everything that an earlier version left in the database.
  /// - Parameter adopt: carries over what stands in other tables of an SQLite file; those of a server were never others.
  func begin(_ adopt: StoreAdoption) async throws -> BegunStore
  /// Carries out a part of the start, again as long as it may succeed later, where a start waits for its database.
  /// - Throws: `StartError` when it cannot go on.
  func attempt(_ part: () async throws(StoreError) -> Void) async throws
  /// Marks of redelivered messages, in the same database. Whoever uses them closes them.
  func marks() async throws -> any MarkStore
  /// Closes the database. Its store is closed before.
  func close() async
}

/// Carries what an earlier version of a service left in its SQLite file over into the store there.
/// - Returns: number of the messages that cannot be read, and are left where they are.
public typealias StoreAdoption = @Sendable (SQLiteStore) async throws(StoreError) -> Int

/// A store that is ready for use.
public struct BegunStore: Sendable {
  /// The store.
  public let store: any Store
  /// Messages of an earlier version that cannot be read, and are left where they are.
  public var messagesLeft = 0
}

/// The tables of a service that stands on the engine and has no others: those of the store, and of the crash marks.
public enum ServiceSchema {
  /// Released ones never change; a new one goes to the end.
  public static let migrations = [
    Migration(version: 1, sql: StoreSchema.sql), Migration(version: 2, sql: MarkSchema.sql),
    Migration(version: 3, sql: MemberSchema.sql),
  ]
}

extension DatabaseSettings {
  /// Opens the database, and waits until it may be used: until no other process has the file, or the server takes a
  /// session.
  func open(_ migrations: [Migration], _ turn: Turn, _ context: ServiceContext) async throws -> any ServiceStorage {
    switch self {
    case .sqlite(let path, let options):
      context.health.register("turn") { turn.health }
      return try await SQLiteStorage.open(path, options, migrations, turn: turn, context)
    case .postgresql(let settings):
      return try await PostgreSQLStorage.open(settings, context)
    }
  }
}
