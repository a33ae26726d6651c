import SQLite

/// The tables of the memory's file. A migration that was released is never changed.
enum PushMemorySchema {
  // `id` grows with time, so that the oldest rows are found without an index of their own.
  static let migrations = [
    Migration(
      version: 1,
      sql: """
        CREATE TABLE environment (
          id INTEGER PRIMARY KEY,
          token BLOB NOT NULL UNIQUE,
          environment TEXT NOT NULL,
          written_at INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE assessment (
          id INTEGER PRIMARY KEY,
          token BLOB NOT NULL UNIQUE,
          job_id TEXT NOT NULL,
          verdict BLOB,
          written_at INTEGER NOT NULL
        ) STRICT;
        """)
  ]
}
