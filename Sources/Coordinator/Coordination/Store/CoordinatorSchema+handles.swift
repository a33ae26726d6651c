/// Changes by which a verification belongs to a purpose and a subject, and several requesters may ask about one code.
extension CoordinatorSchema {
  // An empty subject is none: NULLs would all differ in the index. Who asked for the rows of before is not known, which is nobody in
  // particular: an empty `requester`.
  //
  // `handles` is what requesters beside the first have of a code, as JSON; it is NULL where there are none, which is usual. The table
  // leads from their IDs to the verification. Its rows go with that, whoever deletes it.
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
