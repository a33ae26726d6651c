/// The table of the marks, a migration of any database that holds them.
public enum MarkSchema {
  /// A released migration is never changed.
  ///
  /// `owner` is a number whose lock a living process holds; 0 when the mark was given back.
  public static let sql = """
    CREATE TABLE crash_mark (
      message BLOB NOT NULL,
      owner INTEGER NOT NULL,
      alone INTEGER NOT NULL,
      suspect INTEGER NOT NULL,
      deaths INTEGER NOT NULL,
      begun INTEGER NOT NULL,
      written_at INTEGER NOT NULL,
      PRIMARY KEY (message, owner)
    ) STRICT, WITHOUT ROWID;
    """
}
