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
