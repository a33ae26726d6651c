import CountersignTelemetry

/// A step from one version of a database's schema to the next.
///
/// Once released, a migration is never changed: files exist that it has made.
public struct Migration: Sendable {
  /// The version the file has afterwards (`PRAGMA user_version`): 1, 2, 3 … without a gap.
  public var version: Int
  /// One or more statements, separated by semicolons, without transaction control.
  public var sql: String

  public init(version: Int, sql: String) {
    self.version = version
    self.sql = sql
  }
}

/// Everything happens in one exclusive transaction, which the version is read in as well: of two processes that start
/// at once the second finds the work done, and a failure leaves the file as it was.
struct Migrator {
  let migrations: [Migration]
  private let kind: DatabaseKind?

  init(_ migrations: [Migration], of kind: DatabaseKind?) throws(StoreError) {
    for (index, migration) in migrations.enumerated() where migration.version != index + 1 {
      throw StoreError(
        .misuse, "migration \(migration.version) stands at place \(index + 1): versions are 1, 2, 3 … in order")
    }
    self.migrations = migrations
    self.kind = kind
  }

  /// Foreign keys are switched off meanwhile, so that tables can be rebuilt
  /// (https://www.sqlite.org/lang_altertable.html, section 7), and checked before the commit. Inside a transaction they
  /// cannot be switched.
  func run(on connection: SQLiteConnection) throws(StoreError) {
    try connection.script("PRAGMA foreign_keys = OFF")
    try runInTransaction(on: connection)
    try connection.script("PRAGMA foreign_keys = ON")
  }

  private func runInTransaction(on connection: SQLiteConnection) throws(StoreError) {
    try connection.run("BEGIN EXCLUSIVE")
    do {
      try apply(to: connection)
      try connection.run("COMMIT")
    } catch {
      connection.rollBackIfOpen()
      throw error
    }
  }

  private func apply(to connection: SQLiteConnection) throws(StoreError) {
    if let kind { try claim(connection, for: kind) }
    let version = try connection.first("PRAGMA user_version", []) { $0.int(0) } ?? 0
    guard version <= migrations.count else {
      throw StoreError(
        .newerSchema,
        "\(connection.path) has schema version \(version), this program knows \(migrations.count): "
          + "run the newer version of this program, or name another file")
    }
    guard version >= 0, version < migrations.count else { return }
    for migration in migrations[version...] {
      try apply(migration, to: connection)
    }
    if let table = try connection.first("PRAGMA foreign_key_check", [], { $0.text(0) }) {
      throw StoreError(
        .migrationFailed, "the migrations of \(connection.path) leave rows of \(table) that refer to nothing")
    }
    // A PRAGMA takes no bound values.
    try connection.script("PRAGMA user_version = \(migrations.count)")
  }

  private func claim(_ connection: SQLiteConnection, for kind: DatabaseKind) throws(StoreError) {
    let found = try connection.first("PRAGMA application_id", []) { Int64($0.int(0)) } ?? 0
    if found == kind.applicationID { return }
    let isEmpty = try connection.first("SELECT 1 FROM sqlite_schema LIMIT 1", []) { $0.int(0) } == nil
    guard found == 0, isEmpty else {
      let other = DatabaseKind.all.first { $0.applicationID == found }
      throw StoreError(
        .otherKind,
        "\(connection.path) is the file of \(other?.description ?? "another program"), not of \(kind): name another file"
      )
    }
    // A PRAGMA takes no bound values.
    try connection.script("PRAGMA application_id = \(kind.applicationID)")
  }

  private func apply(_ migration: Migration, to connection: SQLiteConnection) throws(StoreError) {
    do {
      try connection.script(migration.sql)
    } catch {
      // Circumstances keep their own code, so that a full disk is not taken for a mistake in the statements.
      guard error.code == .statement || error.code == .misuse || error.code == .constraint else { throw error }
      throw StoreError(
        .migrationFailed, "migration \(migration.version) of \(connection.path): \(error.message)",
        sqliteCode: error.sqliteCode)
    }
    guard connection.isInTransaction else {
      throw StoreError(
        .migrationFailed, "migration \(migration.version) of \(connection.path) ended the transaction")
    }
  }
}
