import CountersignTelemetry

extension SQLiteConnection {
  /// The settings that SQLite does not keep in the file, and the one it does: WAL.
  func configure(_ options: DatabaseOptions) throws(StoreError) {
    // Before anything is written: afterwards only a rewrite of the file changes it.
    if options.isShrinkable { try script("PRAGMA auto_vacuum = INCREMENTAL") }
    let mode = try first("PRAGMA journal_mode = WAL", []) { $0.text(0) }
    guard mode == "wal" else {
      throw StoreError(
        .cannotOpen, "\(path) cannot use a write-ahead log (mode \(mode ?? "none")): put it on a local file system")
    }
    try script(
      """
      PRAGMA synchronous = \(options.synchronous.rawValue);
      PRAGMA foreign_keys = ON;
      PRAGMA trusted_schema = OFF;
      -- What is deleted is overwritten, whatever SQLite was built with: it may be somebody's number.
      PRAGMA secure_delete = ON;
      PRAGMA cache_size = -\(options.cacheKiB);
      -- Savepoints keep copies of changed pages: in memory, not in a temporary file.
      PRAGMA temp_store = MEMORY;
      -- When the log starts anew, what it is longer than one regular checkpoint is given back.
      PRAGMA journal_size_limit = \(options.checkpointPages * 4096);
      """)
  }

  /// The largest file that is rewritten to make it shrinkable, in bytes: some seconds of work at a start.
  private static let largestRewrite = 1 << 30

  /// Makes a file shrinkable that was made before it could be. Where it is too large, or another process has it open,
  /// it stays as it is: its room is used again, only not given back.
  func makeShrinkable() throws(StoreError) {
    let isShrinkable = try first("PRAGMA auto_vacuum", []) { $0.int(0) != 0 } ?? true
    let pages = try first("PRAGMA page_count", []) { $0.int(0) } ?? 0
    let page = try first("PRAGMA page_size", []) { $0.int(0) } ?? 0
    guard !isShrinkable, pages * page <= Self.largestRewrite else { return }
    do {
      try script("PRAGMA auto_vacuum = INCREMENTAL; VACUUM;")
    } catch {
      guard error.code == .busy || error.code == .full else { throw error }
    }
  }
}
