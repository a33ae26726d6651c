import JobEngine
import PostgreSQL
import RecordStore

enum StoreParts {
  static let coordinator: [PostgreSQLSchemaPart] = [StoreSchemaPostgreSQL.part, marks]
  static let worker: [PostgreSQLSchemaPart] = [
    LedgerSchemaPostgreSQL.part, RecordPlace.workers.part, marks,
  ]
  private static let marks = RecordPlace.marks.part

  /// In the order in which they are made.
  static let all: [PostgreSQLSchemaPart] = coordinator + worker.filter { !coordinator.contains($0) }

  static let prefixes = ["store": "store_", "marks": "mark_", "ledger": "ledger_", "workers": "worker_"]
}
