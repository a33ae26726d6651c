import CountersignMessages
import CountersignTelemetry
import SQLite
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination

/// A statement, with its values.
struct Statement: Sendable {
  var sql: String
  var values: [Value]

  init(_ sql: String, _ values: [Value]) {
    self.sql = sql
    self.values = values
  }
}

extension Bench {
  var conversions: Conversions {
    Conversions(rules, metrics: metrics.conversion, logger: Logger(label: "test", sink: logs))
  }

  private var carrying: CarryOver {
    CarryOver(rules, conversions, Logger(label: "test", sink: logs), engineMetrics)
  }

  /// Carries the rows of an earlier version into the store, as a start does.
  @discardableResult
  func carryOver() async throws -> [String: Int] {
    let left = try await carrying.run(store, clock: clock)
    try await restart()
    return left
  }

  /// Carries a page of each table, and ends the process.
  func carryPage() async throws {
    let earlier = EarlierTables(beside: store)
    for table in try await carrying.tables(earlier) {
      _ = try await earlier.carryPage(table, behind: nil, at: clock.now())
    }
    try await takeOver()
  }

  /// Runs statements on the database.
  func run(_ statements: [Statement]) async throws {
    try await database.write { session throws(DatabaseError) -> Void in
      for statement in statements { try session.execute(statement.sql, statement.values) }
    }
  }

  func number(_ sql: String) async throws -> Int {
    try await database.read { session throws(DatabaseError) in
      try session.first(sql) { row throws(DatabaseError) in row.int(0) } ?? 0
    }
  }

  /// Tables of the file that are not the store's.
  func earlierTables() async throws -> [String] {
    try await database.read { session throws(DatabaseError) in
      try session.query(
        """
        SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'store_%' AND name NOT LIKE 'sqlite_%'
        ORDER BY name
        """
      ) { row throws(DatabaseError) in row.text(0) }
    }
  }

  // MARK: Back to version 13

  /// Moves everything in the store into the tables of version 13, in the statements and formats of that version. What
  /// that version had in memory only is lost.
  func becomeVersion13() async throws {
    var statements: [Statement] = []
    for kind in ["verification", "appProof", "refusedToken", "assessment", "revocation"] {
      for record in try await records(RecordKind(kind)) {
        statements += try EarlierRow13.statements(record, bench: self)
      }
    }
    for record in try await records(ConversionRecords.blockKind) {
      statements.append(EarlierRow13.block(try ConversionBlock(record)))
    }
    var keys = StoreKeys()
    try conversions.records.addOutages(to: &keys)
    let set = try await store.read(StoreLoad(keys), at: clock.now())
    statements += try conversions.records.outages(in: set).map(EarlierRow13.outage)
    statements += try await usage()
    statements += try await messages()
    statements.append(
      Statement(
        """
        INSERT INTO inbox (key, fingerprint, received_at, reply_type, reply, pending)
        SELECT CAST(key AS TEXT), fingerprint, ?, type, reply, state = 0 FROM store_inbox ORDER BY number
        """, [.integer(clock.now().milliseconds)]))
    for table in ["inbox", "record", "unique", "group", "counter", "outbox"] {
      statements.append(Statement("DELETE FROM store_\(table)", []))
    }
    try await run(statements)
  }

  private func records(_ kind: RecordKind) async throws -> [Record] {
    try await database.read { session throws(DatabaseError) in
      try session.query(
        "SELECT \(RecordColumn.list()) FROM store_record WHERE kind = ? ORDER BY number", [.text(kind.name)]
      ) { row throws(DatabaseError) in RecordRow(row, kind).record }
    }.compactMap { $0 }
  }

  /// Counts of the limits: `<rule>:<window in ms>=<time>*<count>,…;…`.
  private func usage() async throws -> [Statement] {
    let cells = try await database.read { session throws(DatabaseError) in
      try session.query(
        "SELECT CAST(key AS TEXT), slot, count, keep FROM store_counter WHERE count > 0 ORDER BY key, slot"
      ) { row throws(DatabaseError) in (name: row.text(0), slot: row.int(1), count: row.int(2), keep: row.int(3)) }
    }
    var windows: [String: (text: String, last: Int, end: Int)] = [:]
    for cell in cells {
      let (slot, last) = (cell.slot, windows[cell.name]?.last)
      let text = windows[cell.name].map { $0.text + "," } ?? "\(cell.keep - cell.slot)="
      windows[cell.name] = (text + "\(slot - (last ?? 0))*\(cell.count)", slot, cell.keep)
    }
    var subjects: [String: (text: String, end: Int)] = [:]
    for (name, window) in windows {
      let parts = name.split(separator: ":").map(String.init)
      guard parts.count == 2, Limit.counters.contains(parts[1]) else { continue }
      let known = subjects[parts[0]]
      subjects[parts[0]] = (
        (known.map { $0.text + ";" } ?? "") + "\(parts[1]):\(window.text)", max(known?.end ?? 0, window.end)
      )
    }
    return subjects.map { subject, counts in
      Statement(
        "INSERT INTO usage (subject, counts, expires_at) VALUES (?, ?, ?)",
        [.text(subject), .text(counts.text), Value(counts.end)])
    }
  }

  /// All messages as one row of the outbox, but those that are held.
  private func messages() async throws -> [Statement] {
    let rows = try await database.read { session throws(DatabaseError) in
      try session.query(
        "SELECT CAST(hold AS TEXT), retry, type, content, discard FROM store_outbox ORDER BY number"
      ) { row throws(DatabaseError) in
        let message = OutboxMessage(
          type: row.text(2), content: row.blob(3),
          discardAt: row.optionalInt(4).map { UnixTime(milliseconds: Int64($0)) })
        return (hold: row.optionalText(0), end: row.int(1), message: message)
      }
    }
    let now = clock.now()
    let messages = try rows.filter { $0.hold == nil }.map { try OutboxCodec.decode($0.message) }
    let outbox = messages.isEmpty ? [] : [EarlierRow13.outbox(messages, at: now)]
    return try outbox
      + rows.compactMap { row in
        guard let hold = row.hold else { return nil }
        return Statement(
          "INSERT OR REPLACE INTO held_job (command_id, due_at, messages) VALUES (?, ?, ?)",
          [.text(hold), Value(row.end), .blob(EarlierRow13.encoded([try OutboxCodec.decode(row.message)]))])
      }
  }
}

/// Rows as version 13 wrote them.
enum EarlierRow13 {
  static func statements(_ record: Record, bench: Bench) throws -> [Statement] {
    let retention = bench.rules.retention
    switch record.id.kind.name {
    case "verification": return try verification(PhoneVerification(record), retention: retention)
    case "appProof": return [appProof(try AppProof(record), retention: retention)]
    case "refusedToken": return [try refusedToken(record)]
    case "assessment": return [try assessment(Assessment(record), retention: retention)]
    default: return [try revocation(Revocation(record), bench.rules.revocation)]
    }
  }

  static func verification(_ verification: PhoneVerification, retention: Duration) throws -> [Statement] {
    let isLive = verification.state.isLive
    let dueAt = isLive ? verification.expiresAt : (verification.endedAt ?? verification.expiresAt) + retention
    let row = Statement(
      """
      INSERT INTO verification (id, version, state, live, due_at, app, phone_number, region, is_test, language, code,
        created_at, expires_at, resend_after, ended_at, checks, messages, failure_code, failure_detail, timeline,
        asked_late, purpose, subject, requester, handles, source)
      VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(verification.id), .text(verification.state.rawValue), Value(isLive), .integer(dueAt.milliseconds),
        .text(verification.app), .text(verification.phoneNumber), .text(verification.region),
        Value(verification.isTestNumber), Value(verification.languageCode), .blob(verification.code.blob),
        .integer(verification.createdAt.milliseconds), .integer(verification.expiresAt.milliseconds),
        .integer(verification.resendAfter.milliseconds), Value(verification.endedAt?.milliseconds),
        Value(verification.checks), .text(String(verification.messages.map(letter))),
        Value(verification.failure?.code), Value(verification.failure?.detail), .text(verification.timeline.text),
        Value(verification.askedLate), .text(verification.purpose.rawValue), .text(verification.subject ?? ""),
        .blob(verification.requester),
        Value(verification.handles.isEmpty ? nil : try StoredJSON.text(verification.handles)),
        .blob(verification.source),
      ])
    return [row]
      + verification.handles.later.map { handle in
        Statement(
          "INSERT INTO verification_handle (id, verification_id) VALUES (?, ?)",
          [.text(handle.id), .text(verification.id)])
      }
  }

  private static func letter(_ progress: PhoneVerification.MessageProgress) -> Character {
    switch progress {
    case .outstanding: "o"
    case .accepted: "a"
    case .refused: "r"
    case .expired: "x"
    case .unknown: "u"
    case .delivered: "d"
    case .undelivered: "n"
    }
  }

  private static func appProof(_ proof: AppProof, retention: Duration) -> Statement {
    let dueAt = proof.state.isLive ? proof.expiresAt : (proof.endedAt ?? proof.expiresAt) + retention
    return Statement(
      """
      INSERT INTO app_proof (receipt, version, state, due_at, app, token_hash, environment, secret, created_at, expires_at,
        ended_at, uses, push, failure_code, failure_detail, timeline, earlier_token_hash)
      VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(proof.receipt), .text(proof.state.rawValue), .integer(dueAt.milliseconds), .text(proof.app),
        .blob(proof.tokenHash), .text(proof.environment.rawValue), .blob(proof.secret.blob),
        .integer(proof.createdAt.milliseconds), .integer(proof.expiresAt.milliseconds),
        Value(proof.endedAt?.milliseconds), Value(proof.uses), .text(proof.push.rawValue), Value(proof.failure?.code),
        Value(proof.failure?.detail), .text(proof.timeline.text), proof.earlierTokenHash.map { .blob($0) } ?? .null,
      ])
  }

  /// The hash is the end of the record's group key.
  private static func refusedToken(_ record: Record) throws -> Statement {
    let key = try #require(record.groupKeys.first).bytes
    let hash = Array(key[(try #require(key.firstIndex(of: 0)) + 1)...])
    let environment = try #require(record.id.text.split(separator: ".").last.map(String.init))
    return Statement(
      "INSERT INTO refused_token (token_hash, environment, code, detail, expires_at) VALUES (?, ?, 'UNREGISTERED', NULL, ?)",
      [.blob(hash), .text(environment), Value(record.discardAt?.milliseconds)])
  }

  private static func assessment(_ assessment: Assessment, retention: Duration) throws -> Statement {
    let dueAt = assessment.expiresAt + (assessment.state == .pending ? .zero : retention)
    return Statement(
      """
      INSERT INTO assessment (id, version, state, due_at, message_id, token_hash, verification_id, command, created_at,
        expires_at)
      VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(assessment.id), .text(assessment.state.rawValue), .integer(dueAt.milliseconds),
        .text(assessment.messageID), .blob(assessment.tokenHash), Value(assessment.verificationID),
        .text(try StoredJSON.text(assessment.command)), .integer(assessment.createdAt.milliseconds),
        .integer(assessment.expiresAt.milliseconds),
      ])
  }

  private static func revocation(_ revocation: Revocation, _ policy: RevocationPolicy) throws -> Statement {
    let dueAt =
      revocation.state.isLive
      ? revocation.expiresAt + RevocationPolicy.grace
      : (revocation.endedAt ?? revocation.expiresAt) + policy.retention
    return Statement(
      """
      INSERT INTO revocation (id, version, state, due_at, app, token_hash, notice, created_at, expires_at, ended_at, ending,
        failure_code, failure_detail, timeline)
      VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(revocation.id), .text(revocation.state.rawValue), .integer(dueAt.milliseconds), .text(revocation.app),
        .blob(revocation.tokenHash), Value(try revocation.notice.map { try StoredJSON.text($0) }),
        .integer(revocation.createdAt.milliseconds), .integer(revocation.expiresAt.milliseconds),
        Value(revocation.endedAt?.milliseconds), Value(revocation.ending?.rawValue), Value(revocation.failure?.code),
        Value(revocation.failure?.detail), .text(revocation.timeline.text),
      ])
  }

  static func block(_ block: ConversionBlock) -> Statement {
    Statement(
      """
      INSERT INTO conversion_block (scope, key, region, blocked_at, until, lifted_at, sent, verified)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(block.scope.rawValue), .text(block.key), .text(block.region), .integer(block.blockedAt.milliseconds),
        .integer(block.until.milliseconds), Value(block.liftedAt?.milliseconds), Value(block.counts.sent),
        Value(block.counts.verified),
      ])
  }

  static func outage(_ outage: ConversionOutage) -> Statement {
    Statement(
      "INSERT INTO conversion_outage (since, until) VALUES (?, ?)",
      [.integer(outage.since.milliseconds), .integer(outage.until.milliseconds)])
  }

  // MARK: Messages

  static func outbox(_ messages: [OutgoingMessage], at now: UnixTime) -> Statement {
    Statement(
      "INSERT INTO outbox (created_at, retry_at, count, messages) VALUES (?, NULL, ?, ?)",
      [.integer(now.milliseconds), Value(messages.count), .blob(encoded(messages))])
  }

  static func encoded(_ messages: [OutgoingMessage]) -> [UInt8] {
    var bytes: [UInt8] = [1]
    for message in messages {
      bytes.append(message.duty.rawValue)
      put(Array(message.exchange.utf8), &bytes)
      put(Array(message.routingKey.utf8), &bytes)
      put(Array(message.type.utf8), &bytes)
      put(Array(message.messageID.utf8), &bytes)
      put(message.correlationID.map { Array($0.utf8) }, &bytes)
      put(message.causationID.map { Array($0.utf8) }, &bytes)
      put(message.traceparent.map { Array($0.utf8) }, &bytes)
      put(message.timestamp.milliseconds, &bytes)
      put(message.discardAfter?.milliseconds ?? .max, &bytes)
      put(message.body, &bytes)
    }
    return bytes
  }

  private static func put(_ number: Int64, _ bytes: inout [UInt8]) {
    for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
  }

  private static func put(_ block: [UInt8]?, _ bytes: inout [UInt8]) {
    let length = UInt32(block.map { $0.count + 1 } ?? 0)
    for shift in stride(from: 24, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: length >> UInt32(shift)))
    }
    bytes += block ?? []
  }
}
