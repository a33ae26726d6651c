import CountersignMessages
import CountersignTelemetry
import SQLite

/// Statements of the ledger inside a transaction. Every writing transaction is exclusive, so anything it reads stays
/// true until its commit, also between processes.
///
/// Each is complete as soon as a statement has changed a row: none needs to be undone as a whole.
enum LedgerStatements {
  /// A failing entry leaves no change behind, so the others are carried out. After a failure of the database none is.
  static func write(
    _ entries: [LedgerEntry], _ session: Session
  ) throws(StoreError) -> [Result<LedgerAnswer, StoreError>] {
    var answers: [Result<LedgerAnswer, StoreError>] = []
    answers.reserveCapacity(entries.count)
    var failure: StoreError?
    for entry in entries {
      if let failure {
        answers.append(.failure(failure))
        continue
      }
      do throws(StoreError) {
        answers.append(.success(try write(entry, session)))
      } catch {
        guard session.isInTransaction else { throw error }
        answers.append(.failure(error))
        if error.isRetriable { failure = error }
      }
    }
    return answers
  }

  private static func write(
    _ entry: LedgerEntry, _ session: Session
  ) throws(StoreError) -> LedgerAnswer {
    let claim = entry.claim
    switch entry {
    case .claim: return .claim(try Self.claim(claim, session))
    case .release:
      try release(claim, session)
      return .done
    case .postpone:
      try postpone(claim, session)
      return .done
    case .forget:
      _ = try forget(claim, session)
      return .done
    case .settle(_, let result, let time):
      return .settled(standing: try settle(claim, result: result, at: time, session))
    }
  }

  private static func claim(_ claim: LedgerClaim, _ session: Session) throws(StoreError) -> ClaimAnswer {
    if try insert(claim, state: .open, result: nil, session) {
      let calls = claim.redeliveries
      return calls > 0 ? .abandoned(lane: nil, unknownCalls: calls) : .claimed(unknownCalls: 0)
    }
    guard let row = try row(of: claim.key, session) else {
      throw StoreError(.damaged, "the ledger has and has not a row of the same job")
    }
    switch row.consequence(of: claim) {
    case .answer(let answer): return answer
    case .shorten(let leaseUntil):
      try shorten(row, to: leaseUntil, claim, session)
      return .held(until: leaseUntil)
    case .takeOver(let calls, let answer):
      try takeOver(claim, unknownCalls: calls, session)
      return answer
    }
  }

  /// Forgets a job without unknown calls, so that a retry leaves no trace.
  private static func release(_ claim: LedgerClaim, _ session: Session) throws(StoreError) {
    if try !forget(claim, session) { try makeIdle(claim, addingCalls: 0, session) }
  }

  private static func forget(_ claim: LedgerClaim, _ session: Session) throws(StoreError) -> Bool {
    try session.execute(
      "DELETE FROM job WHERE key = ? AND token = ? AND state = 1 AND unknown_calls = 0",
      [.text(claim.key), .integer(claim.token)]) > 0
  }

  private static func postpone(_ claim: LedgerClaim, _ session: Session) throws(StoreError) {
    try makeIdle(claim, addingCalls: 1, session)
  }

  /// First settlement wins, even if its claim was taken over: the outcome it observed is real.
  private static func settle(
    _ claim: LedgerClaim, result: [UInt8], at time: UnixTime, _ session: Session
  ) throws(StoreError) -> [UInt8]? {
    let updated = try session.execute(
      """
      UPDATE job SET state = 2, token = 0, lane = '', lease_until = 0, result = ?, written_at = ?, keep_until = ?,
        match_key = ?, correlation_id = ?
      WHERE key = ? AND state <> 2
      """,
      [
        .blob(result), .integer(time.milliseconds), .integer(claim.times.keepUntil.milliseconds),
        Value(claim.match?.key),
        Value(claim.match?.correlationID), .text(claim.key),
      ])
    if updated == 1 { return nil }
    if try insert(claim, state: .settled, result: result, session) { return nil }
    let standing = try row(of: claim.key, session)?.result
    return standing == result ? nil : standing
  }

  private static func shorten(
    _ row: LedgerRow, to leaseUntil: UnixTime, _ claim: LedgerClaim, _ session: Session
  ) throws(StoreError) {
    try session.execute(
      "UPDATE job SET lease_until = ?, written_at = ? WHERE key = ? AND token = ? AND state = 1",
      [
        .integer(leaseUntil.milliseconds), .integer(claim.times.now.milliseconds), .text(claim.key),
        .integer(row.token),
      ])
  }

  private static func insert(
    _ claim: LedgerClaim, state: LedgerState, result: [UInt8]?, _ session: Session
  ) throws(StoreError) -> Bool {
    try session.execute(
      """
      INSERT INTO job (
        key, state, token, lane, lease_until, unknown_calls, written_at, keep_until, result, match_key,
        correlation_id)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING
      """,
      [
        .text(claim.key), .integer(state.rawValue), .integer(claim.token), .text(claim.lane),
        .integer(claim.times.leaseUntil.milliseconds), .integer(Int64(state == .open ? claim.redeliveries : 0)),
        .integer(claim.times.now.milliseconds), .integer(claim.times.keepUntil.milliseconds), Value(result),
        Value(claim.match?.key),
        Value(claim.match?.correlationID),
      ]) == 1
  }

  /// The newest job of that key: a provider may use an ID again one day.
  static func job(_ match: LedgerMatch, _ session: Session) throws(StoreError) -> LedgerMatchedJob? {
    try session.first(
      "SELECT key, correlation_id FROM job WHERE match_key = ? ORDER BY id DESC LIMIT 1", [.text(match.key)]
    ) { row throws(StoreError) in
      LedgerMatchedJob(job: MessageIdentity(key: row.text(0)), correlationID: row.optionalText(1))
    }
  }

  private static func row(of key: String, _ session: Session) throws(StoreError) -> LedgerRow? {
    try session.first(
      "SELECT state, token, lane, lease_until, unknown_calls, result, written_at FROM job WHERE key = ?",
      [.text(key)]
    ) { row throws(StoreError) in
      guard let state = LedgerState(rawValue: Int64(row.int(0))) else {
        throw StoreError(.damaged, "the ledger has a row in a state that it does not know")
      }
      return LedgerRow(
        state: state, token: Int64(row.int(1)), lane: row.text(2),
        leaseUntil: UnixTime(milliseconds: Int64(row.int(3))), unknownCalls: row.int(4),
        writtenAt: UnixTime(milliseconds: Int64(row.int(6))), result: row.blob(5))
    }
  }

  private static func takeOver(
    _ claim: LedgerClaim, unknownCalls: Int, _ session: Session
  ) throws(StoreError) {
    try session.execute(
      """
      UPDATE job SET state = 1, token = ?, lane = ?, lease_until = ?, unknown_calls = ?, written_at = ?, keep_until = ?
      WHERE key = ?
      """,
      [
        .integer(claim.token), .text(claim.lane), .integer(claim.times.leaseUntil.milliseconds),
        .integer(Int64(unknownCalls)), .integer(claim.times.now.milliseconds),
        .integer(claim.times.keepUntil.milliseconds),
        .text(claim.key),
      ])
  }

  private static func makeIdle(
    _ claim: LedgerClaim, addingCalls calls: Int64, _ session: Session
  ) throws(StoreError) {
    try session.execute(
      "UPDATE job SET state = 0, unknown_calls = unknown_calls + ? WHERE key = ? AND token = ? AND state = 1",
      [.integer(calls), .text(claim.key), .integer(claim.token)])
  }
}
