/// A table whose rows become due: when what they tell of ends, and again when they may be deleted.
enum DueTable: String, Sendable, CaseIterable {
  case verification
  case appProof = "app_proof"
  case assessment
  case revocation

  /// The column with its key.
  var key: String { self == .appProof ? "receipt" : "id" }

  /// Whether a row is over, and due for deletion, without a look at its state: `?` is a retention ago.
  var isOver: String { self == .assessment ? "expires_at <= ?" : "(ended_at IS NOT NULL OR expires_at <= ?)" }

  /// Change that makes room for others when a row is put off: a verification that nobody can read must not keep its number.
  var release: String { self == .verification ? ", live = 0" : "" }
}
