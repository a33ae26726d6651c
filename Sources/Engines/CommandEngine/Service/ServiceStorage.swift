public import CountersignTelemetry
public import CrashMarks
public import RecordStore
import SQLite
import ServiceRuntime

/// The opened database of a stateful service.
public protocol ServiceStorage: Sendable {
  /// Whether other processes of the service may use it at the same time.
  var isShared: Bool { get }
  /// The clock that all processes on the database go by.
  var clock: any WallClock { get }
  /// State of the session with a shared database. `nil` for one that no other process shares.
  var session: (@Sendable () -> SessionState)? { get }
  /// The processes that have the database.
  var members: any MemberRegister { get }
  /// Remedy for `/readyz` while it takes no writes.
  var hint: String { get }

  func begin() async throws -> any Store
  /// Carries out a part of the start, again as long as it may succeed later, where a start waits for its database.
  /// - Throws: `StartError` when it cannot go on.
  func attempt(_ part: () async throws(StoreError) -> Void) async throws
  /// Marks of redelivered messages, in the same database. Whoever uses them closes them.
  func marks() async throws -> any MarkStore
  /// Closes the database. Its store is closed before.
  func close() async
}

extension DatabaseSettings {
  /// Opens the database, and waits until it may be used: until no other process has the file, or the server takes a
  /// session.
  func open(
    of kind: DatabaseKind, _ turn: Turn, _ context: ServiceContext
  ) async throws -> any ServiceStorage {
    switch self {
    case .sqlite(let path, let options):
      context.health.register("turn") { turn.health }
      return try await SQLiteStorage.open(path, options, of: kind, turn: turn, context)
    case .postgresql(let settings):
      return try await PostgreSQLStorage.open(settings, of: kind, context)
    }
  }
}
