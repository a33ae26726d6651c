/// The table of what is blocked.
extension CoordinatorSchema {
  // A row stays for a while when its block has ended: verifications that began before must not be held against its key again. The
  // windows are not stored: they are counted again from the verifications.
  static let version3 = """
    CREATE TABLE conversion_block (
      key TEXT NOT NULL PRIMARY KEY,
      scope TEXT NOT NULL,
      region TEXT NOT NULL,
      blocked_at INTEGER NOT NULL,
      until INTEGER NOT NULL,
      lifted_at INTEGER,
      sent INTEGER NOT NULL,
      verified INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    """
}
