/// Changes that the table of the recorded replies has learned since.
extension CoordinatorSchema {
  // A command that waits has no reply yet, and keeps its place: `reply_type` and `reply` are empty then.
  static let version6 = """
    ALTER TABLE inbox ADD COLUMN pending INTEGER NOT NULL DEFAULT 0;
    """

  // A command is known by its sender and its ID (`MessageIdentity`). Rows of before have the ID alone, and are found by it until they are
  // forgotten, an hour later: the commands that they stand for do not say who sent them either.
  static let senders = """
    ALTER TABLE inbox RENAME COLUMN message_id TO key;
    CREATE TABLE inbox_without_sender (last_number INTEGER NOT NULL) STRICT;
    INSERT INTO inbox_without_sender SELECT number FROM inbox ORDER BY number DESC LIMIT 1;
    """
}
