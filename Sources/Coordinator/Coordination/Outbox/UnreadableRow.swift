import SQLite

/// Rows of messages that this version cannot read; they are kept for one that can.
enum UnreadableRow {
  /// The time at which such a row is due: never, until the next start.
  static let mark = Value.integer(.max)
}
