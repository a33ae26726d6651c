extension Connection {
  /// The settings that SQLite does not keep in the file, and the one it does: WAL.
  func configure(_ options: DatabaseOptions) throws(DatabaseError) {
    let mode = try first("PRAGMA journal_mode = WAL", []) { $0.text(0) }
    guard mode == "wal" else {
      throw DatabaseError(
        .cannotOpen, "\(path) cannot use a write-ahead log (mode \(mode ?? "none")): put it on a local file system")
    }
    try script(
      """
      PRAGMA synchronous = \(options.synchronous.rawValue);
      PRAGMA foreign_keys = ON;
      PRAGMA trusted_schema = OFF;
      PRAGMA cache_size = -\(options.cacheKiB);
      -- Savepoints keep copies of changed pages: in memory, not in a temporary file.
      PRAGMA temp_store = MEMORY;
      -- When the log starts anew, what it is longer than one regular checkpoint is given back.
      PRAGMA journal_size_limit = \(options.checkpointPages * 4096);
      """)
  }
}
