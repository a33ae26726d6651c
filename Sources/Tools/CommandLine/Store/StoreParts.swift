import CommandEngine
import CrashMarks
import JobEngine
import Mail
import PostgreSQL
import Push

/// Tables of all parts of the program, and who uses them.
enum StoreParts {
  static let coordinator: [PostgreSQLSchemaPart] = [StoreSchemaPostgreSQL.part, MarkSchemaPostgreSQL.part]
  static let worker: [PostgreSQLSchemaPart] = [
    LedgerSchemaPostgreSQL.part, SuppressionSchemaPostgreSQL.part, PushMemorySchemaPostgreSQL.part,
    MarkSchemaPostgreSQL.part,
  ]

  /// All of them, in the order in which they are made.
  static let all: [PostgreSQLSchemaPart] = coordinator + worker.filter { !coordinator.contains($0) }

  /// Beginnings of the names of each part's tables.
  static let prefixes = [
    "store": ["store_"], "marks": ["mark_"], "ledger": ["ledger_"], "suppressions": ["suppression"], "push": ["push_"],
  ]
}
