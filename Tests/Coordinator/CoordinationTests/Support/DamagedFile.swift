import FoundationEssentials
import SQLite

@testable import Coordination

/// A database of the coordinator whose tables and indexes are overwritten; only the schema is left.
enum DamagedFile {
  static func with(_ body: (Database) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "coordination-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let file = directory.appending(path: "coordinator.sqlite")
    let pages = try await dataPages(file)
    var bytes = try Data(contentsOf: file)
    for page in pages {
      for index in (page.number - 1) * page.size..<page.number * page.size { bytes[index] = 0xFF }
    }
    try bytes.write(to: file)
    let database = try await open(file)
    let result: Result<Void, any Error>
    do {
      result = .success(try await body(database))
    } catch {
      result = .failure(error)
    }
    await database.close()
    try FileManager.default.removeItem(at: directory)
    try result.get()
  }

  /// The roots of all tables and indexes.
  private static func dataPages(_ file: URL) async throws -> [(number: Int, size: Int)] {
    let database = try await open(file)
    let pages = try await database.read { session throws(DatabaseError) in
      let size = try session.first("PRAGMA page_size") { row throws(DatabaseError) in row.int(0) } ?? 0
      return try session.query("SELECT rootpage FROM sqlite_schema WHERE rootpage > 1") { row throws(DatabaseError) in
        (number: row.int(0), size: size)
      }
    }
    await database.close()
    return pages
  }

  private static func open(_ file: URL) async throws -> Database {
    try await Database.open(
      path: file.path(percentEncoded: false), options: DatabaseOptions(synchronous: .normal),
      migrations: CoordinatorSchema.migrations)
  }

  /// A database that an older version has written, with a reply to the message "old", opened by this one.
  static func withOlder(version: Int, _ body: (Database) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "coordination-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let file = directory.appending(path: "coordinator.sqlite")
    let older = try await Database.open(
      path: file.path(percentEncoded: false), migrations: Array(CoordinatorSchema.migrations.prefix(version)))
    try await older.write { session throws(DatabaseError) -> Void in
      try session.execute(
        """
        INSERT INTO inbox (message_id, fingerprint, received_at, reply_type, reply)
        VALUES ('old', x'01', 0, 't.v1', x'02')
        """)
    }
    await older.close()
    let database = try await open(file)
    try await body(database)
    await database.close()
    try FileManager.default.removeItem(at: directory)
  }
}
