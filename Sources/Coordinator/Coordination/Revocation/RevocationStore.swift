import CountersignMessages
import CountersignTelemetry
import SQLite

/// A revocation as a row of its table.
enum RevocationRow {
  static let columns = """
    id, app, token_hash, created_at, notice, state, expires_at, ended_at, ending, failure_code, failure_detail, timeline, \
    version
    """

  static func read(_ row: Row) throws(DatabaseError) -> Stored<Revocation> {
    var notice: StartRevocation.Notice?
    if let text = row.optionalText(4) { notice = try StoredJSON.read(text) }
    let revocation = Revocation(
      id: row.text(0), app: row.text(1), tokenHash: row.blob(2), createdAt: row.time(3), notice: notice,
      state: try row.word(5, Revocation.State.self), expiresAt: row.time(6), endedAt: row.optionalTime(7),
      ending: row.optionalText(8).map(OperationEnding.init(rawValue:)), failure: row.failure(9),
      timeline: Timeline(text: row.text(11)))
    return Stored(content: revocation, version: row.int(12))
  }

  static func insert(_ revocation: Revocation, dueAt: UnixTime, in session: Session) throws(DatabaseError) {
    try session.execute(
      """
      INSERT INTO revocation (id, version, state, due_at, app, token_hash, notice, created_at, expires_at, ended_at, ending,
        failure_code, failure_detail, timeline)
      VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(revocation.id), .text(revocation.state.rawValue), .integer(dueAt.milliseconds), .text(revocation.app),
        .blob(revocation.tokenHash), try notice(revocation), .integer(revocation.createdAt.milliseconds),
      ] + changing(revocation))
  }

  /// - Returns: whether the row still had this version.
  static func update(
    _ revocation: Revocation, dueAt: UnixTime, from version: Int, in session: Session
  ) throws(DatabaseError) -> Bool {
    try session.execute(
      """
      UPDATE revocation SET version = version + 1, state = ?, due_at = ?, notice = ?, expires_at = ?, ended_at = ?,
        ending = ?, failure_code = ?, failure_detail = ?, timeline = ?
      WHERE id = ? AND version = ?
      """,
      [.text(revocation.state.rawValue), .integer(dueAt.milliseconds), try notice(revocation)] + changing(revocation)
        + [.text(revocation.id), Value(version)]) == 1
  }

  private static func notice(_ revocation: Revocation) throws(DatabaseError) -> Value {
    guard let notice = revocation.notice else { return .null }
    return .text(try StoredJSON.text(notice))
  }

  private static func changing(_ revocation: Revocation) -> [Value] {
    [
      .integer(revocation.expiresAt.milliseconds), Value(revocation.endedAt?.milliseconds),
      Value(revocation.ending?.rawValue), Value(revocation.failure?.code), Value(revocation.failure?.detail),
      .text(revocation.timeline.text),
    ]
  }
}

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
