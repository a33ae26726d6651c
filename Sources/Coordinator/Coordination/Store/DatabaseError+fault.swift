import SQLite

extension DatabaseError {
  /// Cause of a failure.
  enum Fault: Sendable, Hashable {
    /// The content or the affected row: others are not affected.
    case content
    /// Either: whether it meets every message, or one alone, decides.
    case doubtful
    /// The database or its environment: every message is affected, and none must suffer for it.
    case store
  }

  var fault: Fault {
    switch code {
    case .content, .constraint, .uniqueConstraint, .tooBig: .content
    // A statement that SQLite rejects belongs to one kind of message, or its table is damaged.
    case .sql, .misuse: .doubtful
    default: .store
    }
  }
}
