/// A table whose rows become due: at their end, and again when they may be deleted.
enum DueTable: String, Sendable, CaseIterable {
  case verification
  case appProof = "app_proof"
  case assessment
  case revocation

  /// The column with its key.
  var key: String { self == .appProof ? "receipt" : "id" }

  /// Condition for a row that is over and due for deletion, independent of its state: `?` is one retention ago.
  var isOver: String { self == .assessment ? "expires_at <= ?" : "(ended_at IS NOT NULL OR expires_at <= ?)" }

  /// Change that makes room for others when a row is postponed: an unreadable verification must not keep its number.
  var release: String { self == .verification ? ", live = 0" : "" }
}
