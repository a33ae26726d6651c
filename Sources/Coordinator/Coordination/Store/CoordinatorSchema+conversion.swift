/// Tables of blocks, and of outages during which codes could not come back.
extension CoordinatorSchema {
  // A row stays for a while after its block has ended: verifications that began before must not count against its key
  // again. The windows are not stored: they are counted again from the verifications.
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

  static let version4 = """
    CREATE TABLE conversion_outage (
      since INTEGER NOT NULL PRIMARY KEY,
      until INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    """

  // See ``PhoneVerification/askedLate``.
  static let askedLate = "ALTER TABLE verification ADD COLUMN asked_late INTEGER NOT NULL DEFAULT 0"

  // See ``PhoneVerification/source``. Rows of earlier versions have none and count for their requester.
  static let source = "ALTER TABLE verification ADD COLUMN source BLOB"
}
