import SQLite

extension DatabaseError {
  /// Place of the reason of a failure.
  enum Fault: Sendable, Hashable {
    /// In what was to be stored, or in the row that it is about: others are not met by it.
    case content
    /// In one of both; that it meets every message, or one alone, tells which.
    case doubtful
    /// In the database or its circumstances: every message meets it, and none must suffer for it.
    case store
  }

  var fault: Fault {
    switch code {
    case .content, .constraint, .uniqueConstraint, .tooBig: .content
    // A statement that SQLite does not take belongs to one kind of message, or its table is not what it should be.
    case .sql, .misuse: .doubtful
    default: .store
    }
  }
}
