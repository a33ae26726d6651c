import CrashMarks
import SQLite

/// The tables of the ledger's SQLite file. A released migration is never changed.
enum LedgerSchema {
  static let migrations = [
    // `id` grows with time, so that the oldest jobs are found without an index of their own, and a job's row is still
    // in the page cache when it is settled. `state` is a `LedgerState`.
    Migration(
      version: 1,
      sql: """
        CREATE TABLE job (
          id INTEGER PRIMARY KEY,
          message_id TEXT NOT NULL UNIQUE,
          state INTEGER NOT NULL,
          owner TEXT NOT NULL,
          token INTEGER NOT NULL,
          lane TEXT NOT NULL,
          lease_until INTEGER NOT NULL,
          unknown_calls INTEGER NOT NULL,
          written_at INTEGER NOT NULL,
          result BLOB
        ) STRICT;
        """),
    // Only jobs of lanes whose providers report by their own IDs have the key, so the index grows with those alone. It
    // is written in the statement that settles the job.
    Migration(
      version: 2,
      sql: """
        ALTER TABLE job ADD COLUMN match_key TEXT;
        ALTER TABLE job ADD COLUMN correlation_id TEXT;
        CREATE INDEX job_by_match_key ON job (match_key) WHERE match_key IS NOT NULL;
        """),
    Migration(version: 3, sql: MarkSchema.sql),
    // A job is kept as long as it could be delivered again, so each row has its own time; before it was two days for
    // all. The log names the claimant. Integers up to 6 bytes and empty texts take almost no space, so an ended job
    // keeps the columns of a claim, emptied.
    Migration(
      version: 4,
      sql: """
        DROP INDEX job_by_match_key;
        ALTER TABLE job RENAME TO job_before;
        CREATE TABLE job (
          id INTEGER PRIMARY KEY,
          message_id TEXT NOT NULL UNIQUE,
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
        INSERT INTO job
          SELECT id, message_id, state, token, lane, lease_until, unknown_calls, written_at, written_at + 172800000, result,
            match_key, correlation_id
          FROM job_before ORDER BY id;
        DROP TABLE job_before;
        CREATE INDEX job_by_match_key ON job (match_key) WHERE match_key IS NOT NULL;
        """),
    // A job is identified by its sender, type and ID. Earlier rows have the ID alone, and match by it until they are
    // forgotten: their messages do not name a sender either.
    Migration(
      version: 5,
      sql: """
        ALTER TABLE job RENAME COLUMN message_id TO key;
        CREATE TABLE job_without_sender (last_id INTEGER NOT NULL) STRICT;
        INSERT INTO job_without_sender SELECT id FROM job ORDER BY id DESC LIMIT 1;
        """),
  ]
}
