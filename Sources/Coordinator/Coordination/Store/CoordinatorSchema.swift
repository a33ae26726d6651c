import CommandEngine
import CrashMarks
import SQLite

/// The tables of the coordinator: those of the store and of the crash marks, and how earlier versions led to them. Times
/// are milliseconds since 1970.
///
/// The tables of version 13 and before belong to earlier versions of the program. ``CarryOver`` carries their rows into
/// the store, and drops them. A new field of a record needs no migration; a new table would be one at the end, since
/// released ones never change.
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
    Migration(version: 14, sql: StoreSchema.sql), Migration(version: 15, sql: MemberSchema.sql),
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

/// Tables of app proofs, assessments and revocations.
extension CoordinatorSchema {
  // `due_at` is the time at which the maintenance has to process a row: at its end, and then when it may be deleted.
  //
  // These tables contain neither secrets nor tokens, only their hashes under the pepper. The messages of `held_job` are
  // sealed where they carry a secret.
  static let version2 = """
    CREATE TABLE app_proof (
      receipt TEXT NOT NULL PRIMARY KEY,
      version INTEGER NOT NULL,
      state TEXT NOT NULL,
      due_at INTEGER NOT NULL,
      app TEXT NOT NULL,
      token_hash BLOB NOT NULL,
      environment TEXT NOT NULL,
      secret BLOB NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      ended_at INTEGER,
      uses INTEGER NOT NULL,
      push TEXT NOT NULL,
      failure_code TEXT,
      failure_detail TEXT,
      timeline TEXT NOT NULL
    ) STRICT;
    CREATE INDEX app_proof_token ON app_proof (token_hash);
    CREATE INDEX app_proof_due ON app_proof (due_at);

    CREATE TABLE refused_token (
      token_hash BLOB NOT NULL,
      environment TEXT NOT NULL,
      code TEXT NOT NULL,
      detail TEXT,
      expires_at INTEGER NOT NULL,
      PRIMARY KEY (token_hash, environment)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX refused_token_due ON refused_token (expires_at);

    CREATE TABLE held_job (
      command_id TEXT NOT NULL PRIMARY KEY,
      due_at INTEGER NOT NULL,
      messages BLOB NOT NULL
    ) STRICT;
    CREATE INDEX held_job_due ON held_job (due_at);

    CREATE TABLE assessment (
      id TEXT NOT NULL PRIMARY KEY,
      version INTEGER NOT NULL,
      state TEXT NOT NULL,
      due_at INTEGER NOT NULL,
      message_id TEXT NOT NULL,
      token_hash BLOB NOT NULL UNIQUE,
      verification_id TEXT,
      command TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX assessment_message ON assessment (message_id);
    CREATE INDEX assessment_due ON assessment (due_at);

    CREATE TABLE revocation (
      id TEXT NOT NULL PRIMARY KEY,
      version INTEGER NOT NULL,
      state TEXT NOT NULL,
      due_at INTEGER NOT NULL,
      app TEXT NOT NULL,
      token_hash BLOB NOT NULL,
      notice TEXT,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      ended_at INTEGER,
      ending TEXT,
      failure_code TEXT,
      failure_detail TEXT,
      timeline TEXT NOT NULL
    ) STRICT;
    CREATE INDEX revocation_token ON revocation (token_hash, created_at);
    CREATE INDEX revocation_due ON revocation (due_at);
    """
}

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

/// Migrations of the table of recorded replies.
extension CoordinatorSchema {
  // A waiting command has no reply yet, and keeps its place: `reply_type` and `reply` are empty then.
  static let version6 = """
    ALTER TABLE inbox ADD COLUMN pending INTEGER NOT NULL DEFAULT 0;
    """

  // A command is identified by its sender and its ID (`MessageIdentity`). Earlier rows have the ID alone, and match by
  // it until they are deleted an hour later: their commands do not name a sender either.
  static let senders = """
    ALTER TABLE inbox RENAME COLUMN message_id TO key;
    CREATE TABLE inbox_without_sender (last_number INTEGER NOT NULL) STRICT;
    INSERT INTO inbox_without_sender SELECT number FROM inbox ORDER BY number DESC LIMIT 1;
    """
}

extension CoordinatorSchema {
  // Counts of numbers, prefixes and addresses were stored under their plain names, and are now stored under keyed
  // hashes, which SQL cannot make: their counts, and those of devices, start from zero once. Counts of regions and of
  // all callers stay.
  static let keyedSubjects = """
    DELETE FROM usage WHERE substr(subject, 1, 1) IN ('n', 'p', 'a', 't');
    ALTER TABLE app_proof ADD COLUMN earlier_token_hash BLOB;
    """

  // A finished assessment is looked up by its token only.
  static let endedAssessments = """
    UPDATE assessment SET command = json_object('app', json_extract(command, '$.app'), 'phoneNumber', '',
      'fingerprint', json_array()) WHERE state <> 'pending';
    """
}

/// Migrations to verifications with purpose, subject, and several requesters of one code.
extension CoordinatorSchema {
  // An empty subject stands for none: NULLs would all differ in the index. The requesters of earlier rows are unknown,
  // which an empty `requester` stands for.
  //
  // `handles` holds the later requesters of a code, as JSON; it is usually NULL. The table leads from their IDs to the
  // verification. Its rows are deleted with the verification.
  static let handles = """
    ALTER TABLE verification ADD COLUMN purpose TEXT NOT NULL DEFAULT 'signIn';
    ALTER TABLE verification ADD COLUMN subject TEXT NOT NULL DEFAULT '';
    ALTER TABLE verification ADD COLUMN requester BLOB NOT NULL DEFAULT x'';
    ALTER TABLE verification ADD COLUMN handles TEXT;
    DROP INDEX verification_live;
    CREATE UNIQUE INDEX verification_live ON verification (phone_number, app, purpose, subject) WHERE live = 1;

    CREATE TABLE verification_handle (
      id TEXT NOT NULL PRIMARY KEY,
      verification_id TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX verification_handle_of ON verification_handle (verification_id);
    CREATE TRIGGER verification_deleted AFTER DELETE ON verification WHEN OLD.handles IS NOT NULL BEGIN
      DELETE FROM verification_handle WHERE verification_id = OLD.id;
    END;
    """
}

/// Migration to one verification for each requester of a fictional number.
extension CoordinatorSchema {
  /// Requester, where it distinguishes live verifications; the same text in the index and in the queries that use it.
  static let requesterOfFictional = "CASE is_test WHEN 1 THEN requester ELSE x'' END"

  static let fictionalRequesters = """
    DROP INDEX verification_live;
    CREATE UNIQUE INDEX verification_live
      ON verification (phone_number, app, purpose, subject, is_test, \(requesterOfFictional)) WHERE live = 1;
    """
}
