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
