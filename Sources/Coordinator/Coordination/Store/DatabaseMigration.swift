public import CommandEngine
public import CountersignTelemetry
import PostgreSQL
import SQLite
public import ServiceRuntime

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// Copies the SQLite database of a coordinator into PostgreSQL, when neither has a coordinator.
public struct DatabaseMigration: Sendable {
  private let path: String
  private let settings: PostgreSQLSettings
  private let rules: CoordinatorRules
  private let clock: any WallClock
  private let logger: Logger

  public init(
    _ path: String, to settings: PostgreSQLSettings, rules: CoordinatorRules, clock: any WallClock, logger: Logger
  ) {
    self.path = path
    self.settings = settings
    self.rules = rules
    self.clock = clock
    self.logger = logger
  }

  /// Step that the migration has come to.
  public enum Progress: Sendable, Hashable {
    /// Tables of an earlier version are carried into the store of the file.
    case carryingOver
    /// Deletes the rows of an interrupted migration.
    case clearing
    /// Rows of a part are copied.
    case copied(StoreCopyPart, rows: Int, of: Int)
    /// All rows are counted on both sides.
    case verifying
  }

  /// Outcome of a migration.
  public struct Outcome: Sendable, Hashable {
    /// Rows that are in PostgreSQL now.
    public var copied: StoreCounts
  }

  /// Result of a look at both sides.
  public struct Preview: Sendable, Hashable {
    /// Rows that are to be copied.
    public var rows: StoreCounts
    /// Tables of an earlier version, whose rows come on top of ``rows``.
    public var earlierTables: [String]
    /// Whether an interrupted migration has left a part in PostgreSQL, which the next one deletes.
    public var isInterrupted: Bool
  }

  /// Looks at both sides as ``run(leavesUnreadable:progress:)`` does, and copies nothing. The file's tables are brought
  /// to the version of the program, as by a start of the coordinator.
  /// - Throws: ``StartError`` with the remedy, as the migration would.
  public func preview() async throws(StartError) -> Preview {
    try await withBoth { (database, target) throws(StoreError) in
      let isInterrupted = try await Self.isInterrupted(target, PostgreSQLArchive(target))
      let store = try await SQLiteStore(in: database)
      let earlier = EarlierTables(beside: store)
      var tables: [String] = []
      for table in try await earlier.existing(among: carrier.tables(earlier).map(\.table))
      where try await !earlier.rows(of: table, limit: 1).isEmpty {
        tables.append(table)
      }
      let rows = try await SQLiteArchive(store).counts()
      await store.close()
      return Preview(rows: rows, earlierTables: tables.sorted(), isInterrupted: isInterrupted)
    }
  }

  /// Copies everything, and compares the counts.
  /// - Parameters:
  ///   - leavesUnreadable: whether rows that this version cannot read stay behind; otherwise they are an error.
  ///   - progress: called with each step.
  /// - Throws: ``StartError`` with the remedy. PostgreSQL may hold a part then, which the next call deletes, and with
  ///   which no coordinator starts.
  public func run(
    leavesUnreadable: Bool = false, progress: @escaping @Sendable (Progress) -> Void
  ) async throws(StartError) -> Outcome {
    try await withBoth { (database, target) throws(StoreError) in
      try await copy(database, to: target, leavesUnreadable: leavesUnreadable, progress)
    }
  }

  // MARK: Both sides

  private func withBoth<Value>(
    _ body: (Database, PostgreSQLStore) async throws(StoreError) -> Value
  ) async throws(StartError) -> Value {
    var status = stat()
    guard stat(path, &status) == 0 else {
      throw StartError(.noInput, "\(path) does not exist, or you may not look at it", mend: Self.otherFile)
    }
    // Opened, an empty file would become a coordinator's.
    if status.st_size == 0 { throw StartError(.badInput, "\(path) is empty", mend: Self.otherFile) }
    return try await withFile { (database) throws(StartError) in
      try await Self.attempt { () throws(StoreError) in
        try await withTarget { (target) throws(StoreError) in try await body(database, target) }
      }
    }
  }

  private func withFile<Value>(
    _ body: (Database) async throws(StartError) -> Value
  ) async throws(StartError) -> Value {
    let owner: FileOwner?
    let database: Database
    do throws(DatabaseError) {
      owner = try FileOwner.claim(path)
      guard owner != nil else { throw DatabaseError(.busy, "a coordinator has \(path): stop it first") }
      database = try await Database.open(path: path, migrations: CoordinatorSchema.migrations)
    } catch {
      throw startError(error)
    }
    let result: Result<Value, StartError>
    do throws(StartError) { result = .success(try await body(database)) } catch { result = .failure(error) }
    await database.close()
    return try withExtendedLifetime(owner) { () throws(StartError) in try result.get() }
  }

  private static let otherFile = "name the database.path of the coordinator"

  private func startError(_ error: DatabaseError) -> StartError {
    switch error.code {
    case .busy: StartError(.unavailable, error.message, mend: nil)
    case .notPermitted, .cannotOpen:
      StartError(.noPermission, error.message, mend: "run it as the coordinator's user")
    // The message names another program to run.
    case .newerSchema: StartError(.badInput, error.message, mend: nil)
    case .notADatabase: StartError(.badInput, "\(path) is not an SQLite database", mend: Self.otherFile)
    case .migrationFailed:
      StartError(.badInput, "\(path) is not a coordinator's database (\(error.message))", mend: Self.otherFile)
    default: StartError(.ioError, error.message, mend: "look at the file and its disk")
    }
  }

  private func withTarget<Value>(
    _ body: (PostgreSQLStore) async throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    var endpoint = settings.endpoint
    endpoint.applicationName = "countersign store migrate"
    var options = PostgreSQLStoreOptions(settings.options)
    options.isExclusive = true
    // Deleting what an interrupted migration left, and counting, take longer than a batch.
    options.connections.statementTimeout = .seconds(600)
    options.connections.runTimeout = .seconds(900)
    let target = try await PostgreSQLStore.open(endpoint, options: options)
    let result: Result<Value, StoreError>
    do throws(StoreError) { result = .success(try await body(target)) } catch { result = .failure(error) }
    await target.close()
    return try result.get()
  }

  private static func attempt<Value>(
    _ body: () async throws(StoreError) -> Value
  ) async throws(StartError) -> Value {
    do throws(StoreError) {
      return try await body()
    } catch {
      switch error.code {
      case .schema, .misuse: throw StartError(.configuration, error.message, mend: nil)
      case .content: throw StartError(.badInput, error.message, mend: nil)
      case .busy: throw StartError(.unavailable, error.message, mend: nil)
      case .readOnly:
        throw StartError(
          .noPermission, error.description,
          mend: "database.url has to name the coordinators' user, and a server that takes writes")
      default:
        throw StartError(
          .unavailable, error.description, mend: "countersign store check shows what is missing; then run it again")
      }
    }
  }

  // MARK: Copy

  private func copy(
    _ database: Database, to target: PostgreSQLStore, leavesUnreadable: Bool,
    _ progress: @escaping @Sendable (Progress) -> Void
  ) async throws(StoreError) -> Outcome {
    let archive = PostgreSQLArchive(target)
    try await makeRoom(target, archive, progress)
    progress(.carryingOver)
    let store = try await SQLiteStore(in: database)
    // The number of the rows that cannot be read.
    let left = try await carrier.run(store, clock: clock).values.reduce(0, +)
    let source = SQLiteArchive(store)
    let there = try await source.counts()
    if !leavesUnreadable, left > 0 { throw Self.unreadable(left) }
    let outcome = try await StoreCopy(from: source, to: target).run(
      at: clock.now(),
      progress: { part, rows in progress(.copied(part, rows: rows, of: there.rows(of: part))) },
      verify: { copy throws(StoreError) in
        progress(.verifying)
        if !leavesUnreadable, copy.unreadable > 0 { throw Self.unreadable(copy.unreadable) }
        try await Self.verify(copy, of: there, archive.counts())
      })
    await store.close()
    return Outcome(copied: outcome.copied)
  }

  private func makeRoom(
    _ target: PostgreSQLStore, _ archive: PostgreSQLArchive, _ progress: @Sendable (Progress) -> Void
  ) async throws(StoreError) {
    guard try await Self.isInterrupted(target, archive) else { return }
    progress(.clearing)
    try await archive.clear()
  }

  private static func isInterrupted(
    _ target: PostgreSQLStore, _ archive: PostgreSQLArchive
  ) async throws(StoreError) -> Bool {
    if try await StoreCopyMark.isSet(in: target) { return true }
    guard try await archive.counts().isEmpty else {
      throw StoreError(.content, "the database holds a coordinator's data already: name an empty one in database.url")
    }
    return false
  }

  private var carrier: CarryOver {
    let conversions = Conversions(rules, metrics: ConversionMetrics(MetricsRegistry()), logger: logger)
    return CarryOver(rules, conversions, logger, EngineMetrics(MetricsRegistry()))
  }

  private static func unreadable(_ rows: Int) -> StoreError {
    StoreError(
      .content,
      "\(rows) rows were written by another version of the program, and cannot be read: run that version until they are gone, or leave them behind with --leave-unreadable"
    )
  }

  private static func verify(
    _ copy: StoreCopy.Outcome, of source: StoreCounts, _ target: StoreCounts
  ) throws(StoreError) {
    guard copy.copied == target, copy.copied.rows + copy.unreadable == source.rows else {
      throw StoreError(
        .io, "\(source.rows) rows were there, \(copy.copied.rows) were copied, and \(target.rows) have arrived")
    }
  }
}

extension StoreCounts {
  fileprivate func rows(of part: StoreCopyPart) -> Int {
    switch part {
    case .records: records
    case .inbox: inbox
    case .counters: cells
    case .outbox: messages
    }
  }
}
