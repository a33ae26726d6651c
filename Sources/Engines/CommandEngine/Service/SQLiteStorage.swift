import CountersignTelemetry
import CrashMarks
import RecordStore
import SQLite
import ServiceRuntime

struct SQLiteStorage: ServiceStorage {
  let isShared = false
  let session: (@Sendable () -> SessionState)? = nil
  let hint = "look at the disk of database.path, at the file, and at who else uses it"
  /// That of the host, which one process has alone as well.
  let clock: any WallClock
  let members: any MemberRegister
  private let database: Database
  /// Released when the database is closed.
  private let owner: FileOwner

  /// Waits until no other process has the file, and opens it.
  static func open(
    _ path: String, _ options: DatabaseOptions, of kind: DatabaseKind, turn: Turn, _ context: ServiceContext
  ) async throws -> SQLiteStorage {
    do {
      let owner = try await turn.claim(path, log: context.logger)
      let database = try await Database.open(
        path: path, options: options, kind: kind, migrations: ServiceSchema.migrations)
      let members = SQLiteMembers(database, name: context.instance, clock: context.clock)
      return SQLiteStorage(clock: context.clock, members: members, database: database, owner: owner)
    } catch let error as StoreError {
      throw startError(opening: error)
    }
  }

  func begin() async throws -> any Store {
    let store = try await SQLiteStore(in: database)
    try await attempt { () throws(StoreError) in try await store.endCopy() }
    return store
  }

  func attempt(_ part: () async throws(StoreError) -> Void) async throws {
    do { try await part() } catch { throw Self.startError(error) }
  }

  func marks() throws -> any MarkStore { try RecordMarks(RecordTable(in: database)) }

  func close() async { await database.close() }

  private static let hint =
    "see database.path (COUNTERSIGN_DATABASE_PATH); its directory must exist and belong to this user"

  static func startError(_ error: StoreError) -> StartError {
    switch error.code {
    case .full, .outOfMemory, .io, .readOnly, .notPermitted, .damaged, .notADatabase:
      StartError(.ioError, error.description, hint: hint)
    case .busy, .rolledBack, .unavailable, .cannotOpen, .closed: StartError(.unavailable, error.description, hint: hint)
    case .schema, .misuse: StartError(.configuration, error.description, hint: nil)
    default: StartError(.internalError, error.description, hint: nil)
    }
  }

  private static func startError(opening error: StoreError) -> StartError {
    switch error.code {
    case .notPermitted: return StartError(.noPermission, error.description, hint: hint)
    case .cannotOpen, .full, .io: return StartError(.ioError, error.description, hint: hint)
    case .newerSchema: return StartError(.configuration, error.message, hint: nil)
    case .otherKind: return StartError(.configuration, error.message, hint: "see database.path")
    case .busy: return StartError(.unavailable, error.description, hint: "wait for the process that has it, or end it")
    default: return StartError(.internalError, error.description, hint: nil)
    }
  }
}
