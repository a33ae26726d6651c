import CountersignTelemetry
import SQLite

extension CoordinatorTransaction {
  func revocation(_ id: String) throws(DatabaseError) -> Stored<Revocation>? {
    guard !id.isEmpty, id.utf8.count <= VerificationID.maxLength else { return nil }
    return try session.first(
      "SELECT \(RevocationRow.columns) FROM revocation WHERE id = ?", [.text(id)], RevocationRow.read)
  }

  /// The latest revocation of a token.
  func revocation(ofToken token: TokenHash) throws(DatabaseError) -> Stored<Revocation>? {
    for hash in token.all {
      if let revocation = try revocation(ofHash: hash) { return revocation }
    }
    return nil
  }

  private func revocation(ofHash hash: [UInt8]) throws(DatabaseError) -> Stored<Revocation>? {
    try session.first(
      "SELECT \(RevocationRow.columns) FROM revocation WHERE token_hash = ? ORDER BY created_at DESC LIMIT 1",
      [.blob(hash)], RevocationRow.read)
  }

  func add(_ revocation: Revocation, under policy: RevocationPolicy) throws(DatabaseError) {
    try RevocationRow.insert(revocation, dueAt: dueAt(revocation, policy), in: session)
  }

  func store(_ stored: Stored<Revocation>, under policy: RevocationPolicy) throws(DatabaseError) {
    let revocation = stored.content
    let dueAt = dueAt(revocation, policy)
    guard try RevocationRow.update(revocation, dueAt: dueAt, from: stored.version, in: session) else {
      throw DatabaseError(.busy, "another process changed the same revocation")
    }
  }

  private func dueAt(_ revocation: Revocation, _ policy: RevocationPolicy) -> UnixTime {
    revocation.state.isLive
      ? revocation.expiresAt + RevocationPolicy.grace : (revocation.endedAt ?? now) + policy.retention
  }

  func delete(revocation id: String) throws(DatabaseError) {
    try session.execute("DELETE FROM revocation WHERE id = ?", [.text(id)])
  }
}
