import CrashMarks
import SQLite

/// The tables of the coordinator. Times are milliseconds since 1970.
enum CoordinatorSchema {
  static let migrations = [
    Migration(version: 1, sql: version1), Migration(version: 2, sql: version2), Migration(version: 3, sql: version3),
    Migration(version: 4, sql: version4), Migration(version: 5, sql: MarkSchema.sql),
    Migration(version: 6, sql: version6),
    Migration(version: 7, sql: askedLate),
    Migration(version: 8, sql: keyedSubjects), Migration(version: 9, sql: handles),
    Migration(version: 10, sql: senders),
    Migration(version: 11, sql: endedAssessments),
    Migration(version: 12, sql: fictionalRequesters), Migration(version: 13, sql: source),
  ]

  // `due_at` is the time at which the sweeper has to process a verification: at its expiry while it lives, and then
  // when it may be deleted. One index serves both.
  //
  // A row of the outbox holds all messages of one transaction: one insert and one delete for a whole batch.
  //
  // The inbox is written in the order of time, so the oldest rows are those with the lowest numbers and need no index.
  private static let version1 = """
    CREATE TABLE verification (
      id TEXT NOT NULL PRIMARY KEY,
      version INTEGER NOT NULL,
      state TEXT NOT NULL,
      live INTEGER NOT NULL,
      due_at INTEGER NOT NULL,
      app TEXT NOT NULL,
      phone_number TEXT NOT NULL,
      region TEXT NOT NULL,
      is_test INTEGER NOT NULL,
      language TEXT,
      code BLOB NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      resend_after INTEGER NOT NULL,
      ended_at INTEGER,
      checks INTEGER NOT NULL,
      messages TEXT NOT NULL,
      failure_code TEXT,
      failure_detail TEXT,
      timeline TEXT NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX verification_live ON verification (phone_number, app) WHERE live = 1;
    CREATE INDEX verification_due ON verification (due_at);

    CREATE TABLE inbox (
      number INTEGER PRIMARY KEY,
      message_id TEXT NOT NULL UNIQUE,
      fingerprint BLOB NOT NULL,
      received_at INTEGER NOT NULL,
      reply_type TEXT NOT NULL,
      reply BLOB NOT NULL
    ) STRICT;

    CREATE TABLE outbox (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      created_at INTEGER NOT NULL,
      retry_at INTEGER,
      count INTEGER NOT NULL,
      messages BLOB NOT NULL
    ) STRICT;

    CREATE TABLE usage (
      subject TEXT NOT NULL PRIMARY KEY,
      counts TEXT NOT NULL,
      expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    """
}
