/// Changes that the table of the recorded replies has learned since.
extension CoordinatorSchema {
  // A command that waits has no reply yet, and keeps its place: `reply_type` and `reply` are empty then.
  static let version6 = """
    ALTER TABLE inbox ADD COLUMN pending INTEGER NOT NULL DEFAULT 0;
    """
}
