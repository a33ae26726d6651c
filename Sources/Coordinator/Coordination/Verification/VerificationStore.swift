import CountersignMessages
import CountersignTelemetry
import SQLite

/// A verification as a row of its table.
enum VerificationRow {
  static let columns = """
    id, app, phone_number, region, is_test, language, code, created_at, state, expires_at, resend_after, ended_at, \
    checks, messages, failure_code, failure_detail, timeline, version, asked_late, purpose, subject, requester, handles, \
    \(source)
    """

  /// Rows before version 13 know the requester only.
  private static let source = "ifnull(source, requester)"

  static func read(_ row: Row) throws(DatabaseError) -> (verification: PhoneVerification, version: Int) {
    let id = row.text(0)
    guard let state = VerificationState(rawValue: row.text(8)), let code = CodeAtRest(blob: row.blob(6)) else {
      throw DatabaseError(.content, "a row of the table verification cannot be read")
    }
    let failure = row.optionalText(14).map { VerificationFailure(code: $0, detail: row.optionalText(15)) }
    let verification = PhoneVerification(
      id: id, app: row.text(1), phoneNumber: row.text(2), region: row.text(3), languageCode: row.optionalText(5),
      isTestNumber: row.bool(4), purpose: try row.word(19, VerificationPurpose.self), subject: subject(row.text(20)),
      requester: row.blob(21), source: row.blob(23), code: code, askedLate: row.bool(18), createdAt: time(row, 7),
      state: state,
      expiresAt: time(row, 9), resendAfter: time(row, 10), endedAt: row.isNull(11) ? nil : time(row, 11),
      checks: row.int(12), messages: progress(row.text(13)), failure: failure,
      timeline: Timeline(text: row.text(16)), handles: try handles(row.optionalText(22)))
    return (verification, row.int(17))
  }

  /// Columns for ``readEnding(_:)``.
  static let endingColumns =
    "phone_number, region, is_test, state, failure_code, messages, created_at, ended_at, asked_late, \(source)"

  /// The ending of a verification, for the conversion; a start reads hundreds of thousands, so the rest of the row is
  /// skipped.
  static func readEnding(_ row: Row) throws(DatabaseError) -> ConversionEnding? {
    guard !row.bool(2), !row.isNull(7),
      let outcome = ConversionEnding.Outcome(
        state: try row.word(3, VerificationState.self), failureCode: row.optionalText(4),
        messages: progress(row.text(5)), askedLate: row.bool(8))
    else { return nil }
    return ConversionEnding(
      prefix: LimitedSend.prefix(of: row.text(0)), region: row.text(1), outcome: outcome, createdAt: time(row, 6),
      endedAt: time(row, 7), source: row.blob(9))
  }

  static func insert(
    _ verification: PhoneVerification, dueAt: UnixTime, in session: Session
  ) throws(DatabaseError) {
    try session.execute(
      """
      INSERT INTO verification (id, version, state, live, due_at, app, phone_number, region, is_test, language, code,
        created_at, expires_at, resend_after, ended_at, checks, messages, failure_code, failure_detail, timeline,
        asked_late, purpose, subject, requester, handles, source)
      VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(verification.id), .text(verification.state.rawValue), Value(verification.state.isLive),
        .integer(dueAt.milliseconds), .text(verification.app), .text(verification.phoneNumber),
        .text(verification.region), Value(verification.isTestNumber), Value(verification.languageCode),
        .blob(verification.code.blob), .integer(verification.createdAt.milliseconds),
        .integer(verification.expiresAt.milliseconds), .integer(verification.resendAfter.milliseconds),
        Value(verification.endedAt?.milliseconds), Value(verification.checks), .text(text(verification.messages)),
        Value(verification.failure?.code), Value(verification.failure?.detail),
        .text(verification.timeline.text), Value(verification.askedLate), .text(verification.purpose.rawValue),
        .text(verification.subject ?? ""), .blob(verification.requester), Value(try text(verification.handles)),
        .blob(verification.source),
      ])
  }

  /// - Returns: whether the row still had this version.
  static func update(
    _ verification: PhoneVerification, dueAt: UnixTime, from version: Int, in session: Session
  ) throws(DatabaseError) -> Bool {
    try session.execute(
      """
      UPDATE verification SET version = version + 1, state = ?, live = ?, due_at = ?, language = ?, expires_at = ?,
        resend_after = ?, ended_at = ?, checks = ?, messages = ?, failure_code = ?, failure_detail = ?, timeline = ?,
        handles = ?
      WHERE id = ? AND version = ?
      """,
      [
        .text(verification.state.rawValue), Value(verification.state.isLive), .integer(dueAt.milliseconds),
        Value(verification.languageCode), .integer(verification.expiresAt.milliseconds),
        .integer(verification.resendAfter.milliseconds), Value(verification.endedAt?.milliseconds),
        Value(verification.checks), .text(text(verification.messages)), Value(verification.failure?.code),
        Value(verification.failure?.detail), .text(verification.timeline.text), Value(try text(verification.handles)),
        .text(verification.id), Value(version),
      ]) == 1
  }

  private static func time(_ row: Row, _ column: Int) -> UnixTime {
    UnixTime(milliseconds: Int64(row.int(column)))
  }

  private static func subject(_ text: String) -> String? { text.isEmpty ? nil : text }

  /// - Returns: `nil` when only the first requester has a handle.
  private static func text(_ handles: HandleSet) throws(DatabaseError) -> String? {
    handles.isEmpty ? nil : try StoredJSON.text(handles)
  }

  private static func handles(_ text: String?) throws(DatabaseError) -> HandleSet {
    guard let text else { return HandleSet() }
    return try StoredJSON.read(text)
  }

  /// A letter for each SMS.
  private static func text(_ messages: [PhoneVerification.MessageProgress]) -> String {
    String(messages.map { $0.letter })
  }

  private static func progress(_ text: String) -> [PhoneVerification.MessageProgress] {
    text.map { letter in PhoneVerification.MessageProgress.allCases.first { $0.letter == letter } ?? .unknown }
  }
}

extension PhoneVerification.MessageProgress {
  fileprivate var letter: Character {
    switch self {
    case .outstanding: "o"
    case .accepted: "a"
    case .refused: "r"
    case .expired: "x"
    case .unknown: "u"
    case .delivered: "d"
    case .undelivered: "n"
    }
  }
}
