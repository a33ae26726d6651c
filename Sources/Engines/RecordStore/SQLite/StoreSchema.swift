public import SQLite

#if DEBUG || COUNTERSIGN_PLANTED_STEP
  import Glibc
#endif

/// The tables of an SQLite store, a migration of any database that holds one. Times are milliseconds since 1970.
public enum StoreSchema {
  /// `number` of the record and of the outbox comes from `store_sequence`, so it is never used twice: a key that an
  /// unreadable record left behind leads to no other record. Kinds and IDs are text, compared by their bytes; what
  /// others choose, or what is a hash, is a blob.
  ///
  /// The oldest slots of a counter go by `keep`, which never moves: a cell is the same slot all its life.
  ///
  /// `retry` of the outbox is empty while its owner has the message in hand, and the end of the hold while it is held.
  /// Messages in hand need no index: those of an owner begin with its `first`, in their order.
  public static let sql = """
    CREATE TABLE store_sequence (name TEXT NOT NULL PRIMARY KEY, last INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    INSERT INTO store_sequence (name, last) VALUES ('record', 0), ('outbox', 0);

    CREATE TABLE store_inbox (
      number INTEGER PRIMARY KEY,
      key BLOB NOT NULL UNIQUE,
      state INTEGER NOT NULL,
      fingerprint BLOB NOT NULL,
      type TEXT NOT NULL,
      reply BLOB NOT NULL,
      keep INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX store_inbox_keep ON store_inbox (keep);

    CREATE TABLE store_record (
      number INTEGER PRIMARY KEY,
      kind TEXT NOT NULL,
      id TEXT NOT NULL,
      version INTEGER NOT NULL,
      due INTEGER,
      discard INTEGER,
      format INTEGER NOT NULL,
      keys BLOB NOT NULL,
      body BLOB NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX store_record_id ON store_record (id, kind);
    CREATE INDEX store_record_due ON store_record (kind, due) WHERE due IS NOT NULL;
    CREATE INDEX store_record_discard ON store_record (discard) WHERE due IS NULL AND discard IS NOT NULL;

    CREATE TABLE store_unique (key BLOB NOT NULL PRIMARY KEY, record INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE store_group (
      key BLOB NOT NULL,
      id TEXT NOT NULL,
      record INTEGER NOT NULL,
      PRIMARY KEY (key, id)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE store_counter (
      key BLOB NOT NULL,
      slot INTEGER NOT NULL,
      count INTEGER NOT NULL,
      keep INTEGER NOT NULL,
      PRIMARY KEY (key, slot)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX store_counter_keep ON store_counter (keep);

    CREATE TABLE store_copy (id TEXT NOT NULL, target INTEGER NOT NULL, other TEXT NOT NULL) STRICT;

    CREATE TABLE store_owner (number INTEGER PRIMARY KEY, first INTEGER NOT NULL) STRICT;
    CREATE TABLE store_outbox (
      number INTEGER PRIMARY KEY,
      owner INTEGER NOT NULL,
      retry INTEGER,
      discard INTEGER,
      hold BLOB,
      tries INTEGER NOT NULL,
      type TEXT NOT NULL,
      content BLOB NOT NULL
    ) STRICT;
    CREATE INDEX store_outbox_retry ON store_outbox (owner, retry) WHERE retry IS NOT NULL;
    CREATE INDEX store_outbox_hold ON store_outbox (hold) WHERE hold IS NOT NULL;
    """
}

/// The table of the members in an SQLite file, a migration of any database that holds a store.
public enum MemberSchema {
  /// `seen` is in milliseconds since 1970.
  public static let sql = """
    CREATE TABLE store_member (
      id TEXT NOT NULL PRIMARY KEY,
      name TEXT NOT NULL,
      admitted INTEGER NOT NULL,
      seen INTEGER NOT NULL,
      secrets TEXT NOT NULL,
      projects TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    """
}

/// The tables of a service that stands on the engine and has no others: those of the store, of its members, and of the
/// crash marks.
public enum ServiceSchema {
  /// The tables of a new file, and the steps of older ones.
  public static let migrations =
    [Migration(version: 1, sql: [StoreSchema.sql, MemberSchema.sql, RecordTable.schema].joined(separator: "\n"))]
    + steps

  /// Steps that follow version 1: none yet, but for that of a test. The first changes the tables of files that exist, in
  /// SQL, and is `Migration(version: 2, sql: …)`; the scripts of version 1 then stay as they are.
  private static let steps = PlantedStep.scripts.enumerated().map { Migration(version: 2 + $0, sql: $1) }
}

/// A step of the tables as a later version may have one, which a test has debug builds make. Release builds do not have
/// it, but for those of `deploy/test --upgrade`.
enum PlantedStep {
  /// The same SQL for both stores: a column that rows of the version before leave empty, and a table.
  private static let script = """
    ALTER TABLE store_record ADD COLUMN planted integer;
    CREATE TABLE store_planted (number integer PRIMARY KEY);
    """

  #if DEBUG || COUNTERSIGN_PLANTED_STEP
    static let scripts = getenv("COUNTERSIGN_PLANTED_STEP") == nil ? [] : [script]
  #else
    static let scripts: [String] = []
  #endif
}
