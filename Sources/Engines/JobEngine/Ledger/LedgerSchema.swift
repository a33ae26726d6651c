import RecordStore
import SQLite

enum LedgerSchema {
  static let migrations = [Migration(version: 1, sql: tables + RecordTable.schema)] + steps

  /// Steps that follow version 1: none yet. The first is `Migration(version: 2, sql: …)`; the tables of version 1 then
  /// stay as they are.
  private static let steps: [Migration] = []

  // `id` grows with time, so that the oldest jobs are found without an index of their own, and a job's row is still in
  // the page cache when it is settled. `key` is the job's sender, type and ID, `state` a `LedgerState`. Integers up to
  // 6 bytes and empty texts take almost no space, so an ended job keeps the columns of a claim, emptied.
  //
  // Only jobs of lanes whose providers report by their own IDs have a match key, so its index grows with those alone.
  private static let tables = """
    CREATE TABLE job (
      id INTEGER PRIMARY KEY,
      key TEXT NOT NULL UNIQUE,
      state INTEGER NOT NULL,
      token INTEGER NOT NULL,
      lane TEXT NOT NULL,
      lease_until INTEGER NOT NULL,
      unknown_calls INTEGER NOT NULL,
      written_at INTEGER NOT NULL,
      keep_until INTEGER NOT NULL,
      result BLOB,
      match_key TEXT,
      correlation_id TEXT
    ) STRICT;
    CREATE INDEX job_by_match_key ON job (match_key) WHERE match_key IS NOT NULL;

    """
}
