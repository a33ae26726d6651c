import CountersignTelemetry
import PostgreSQL

/// Every writer takes tables and rows in one order, so that two of them cannot lock each other out. Counters come last,
/// because all writers meet there.
struct PostgreSQLWrite {
  private struct Step {
    let statement: PostgreSQLStatement
    let conflict: (PostgreSQLRows) throws(StoreError) -> StoreConflict?
  }

  let owner: Int64
  let now: UnixTime
  /// Whether the messages wait for ``Store/claimMessages(limit:at:)``. Otherwise the caller publishes them.
  let isForClaims: Bool
  private var steps: [Step] = []
  private var outgoing: [OutboxMessage] = []
  private var outboxStep: Int?

  init(owner: Int64, at now: UnixTime, isForClaims: Bool = false) {
    self.owner = owner
    self.now = now
    self.isForClaims = isForClaims
  }

  var isEmpty: Bool { steps.isEmpty }

  /// Records come before the inbox: an attempt that is repeated locks them as it loads, and two orders would deadlock.
  mutating func add(_ changes: StoreChanges) {
    add(changes.records)
    add(changes.messages)
    add(changes.outgoing)
    add(changes.increments, forgotten: changes.forgotten)
  }

  mutating func add(
    _ sql: String, _ values: [PostgreSQLValue],
    _ conflict: @escaping (PostgreSQLRows) throws(StoreError) -> StoreConflict? = { _ in nil }
  ) {
    steps.append(Step(statement: PostgreSQLStatement(sql, values), conflict: conflict))
  }

  mutating func add(
    _ sql: String, _ values: [PostgreSQLValue], changing count: Int, else conflict: StoreConflict
  ) {
    add(sql, values) { rows in rows.affected == count ? nil : conflict }
  }

  func run(_ session: PostgreSQLSession) throws(StoreError) -> [StoredMessage] {
    guard !steps.isEmpty else { return [] }
    let results = try session.run(steps.map(\.statement))
    if let conflict = try conflict(results) { throw StoreError(conflict) }
    return try outboxStep.map { step throws(StoreError) in try stored(results[step]) } ?? []
  }

  private func conflict(_ results: [PostgreSQLRows]) throws(StoreError) -> StoreConflict? {
    for (step, rows) in zip(steps, results) {
      if let conflict = try step.conflict(rows) { return conflict }
    }
    return nil
  }
}

// MARK: - Inbox and counters

extension PostgreSQLWrite {
  static let updateMessages = """
    UPDATE store_inbox i SET state = m.state, fingerprint = m.fingerprint, type = m.type, reply = m.reply, keep = m.keep
    FROM unnest($1::bytea[], $2::bigint[], $3::bytea[], $4::text[], $5::bytea[], $6::bigint[])
      AS m (key, state, fingerprint, type, reply, keep)
    WHERE i.key = m.key AND i.state = 0
    """
  static let insertMessages = """
    INSERT INTO store_inbox (key, state, fingerprint, type, reply, keep)
    SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bytea[], $4::text[], $5::bytea[], $6::bigint[])
    ON CONFLICT (key) DO NOTHING
    """

  private mutating func add(_ messages: [StoreChanges.Message]) {
    guard !messages.isEmpty else { return }
    let sorted = messages.sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }
    for (isNew, sql) in [(false, Self.updateMessages), (true, Self.insertMessages)] {
      let some = sorted.filter { $0.isNew == isNew }
      guard !some.isEmpty else { continue }
      let stored = some.map(\.entry.stored)
      add(
        sql,
        [
          .byteArrays(some.map(\.key.bytes)), .integers(stored.map { Int64($0.code.rawValue) }),
          .byteArrays(some.map(\.entry.fingerprint)), .texts(stored.map(\.type)), .byteArrays(stored.map(\.reply)),
          .integers(some.map(\.entry.keepUntil.milliseconds)),
        ], changing: some.count, else: .received)
    }
  }

  /// Locks all cells that go or grow, in their order: a counter that is forgotten is met again by what is added.
  static let lockCounters = """
    SELECT FROM store_counter c WHERE c.key = ANY ($1::bytea[]) ORDER BY c.key, c.slot FOR UPDATE
    """
  static let forgetCounters = "DELETE FROM store_counter WHERE key = ANY ($1::bytea[])"
  static let addIncrements = """
    INSERT INTO store_counter AS c (key, slot, count, keep)
    SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bigint[])
    ON CONFLICT (key, slot) DO UPDATE SET count = c.count + excluded.count, keep = greatest(c.keep, excluded.keep)
    """

  private mutating func add(_ increments: [StoreChanges.Increment], forgotten: [CounterKey]) {
    if !forgotten.isEmpty {
      let all = Set(forgotten + increments.map(\.key)).map(\.bytes).sorted { $0.lexicographicallyPrecedes($1) }
      add(Self.lockCounters, [.byteArrays(all)])
      add(Self.forgetCounters, [.byteArrays(forgotten.map(\.bytes))])
    }
    guard !increments.isEmpty else { return }
    let sorted = increments.sorted { left, right in
      left.key == right.key
        ? left.slot < right.slot : left.key.bytes.lexicographicallyPrecedes(right.key.bytes)
    }
    add(
      Self.addIncrements,
      [
        .byteArrays(sorted.map(\.key.bytes)), .integers(sorted.map(\.slot)), .integers(sorted.map(\.count)),
        .integers(sorted.map(\.keepUntil.milliseconds)),
      ])
  }
}

// MARK: - Outbox

extension PostgreSQLWrite {
  /// The rows are numbered in the order of the arrays.
  static let insertOutbox = """
    INSERT INTO store_outbox (number, owner, retry, discard, hold, tries, type, content)
    SELECT nextval('store_outbox_seq'), $1::bigint, m.retry, m.discard, m.hold, 0, m.type, m.content
    FROM unnest($2::bigint[], $3::bigint[], $4::bytea[], $5::text[], $6::bytea[])
      AS m (retry, discard, hold, type, content)
    RETURNING number
    """

  private mutating func add(_ messages: [OutboxMessage]) {
    guard !messages.isEmpty else { return }
    outgoing = messages
    outboxStep = steps.count
    add(
      Self.insertOutbox,
      [
        .integer(owner), .times(messages.map { $0.hold?.until ?? (isForClaims ? now : nil) }),
        .times(messages.map(\.discardAt)), .byteArrays(messages.map { $0.hold?.command.bytes }),
        .texts(messages.map(\.type)), .byteArrays(messages.map(\.content)),
      ])
  }

  private func stored(_ rows: PostgreSQLRows) throws(StoreError) -> [StoredMessage] {
    guard rows.count == outgoing.count else {
      throw StoreError(.unexpectedResult, "fewer messages were stored than were sent")
    }
    if isForClaims { return [] }
    var messages: [StoredMessage] = []
    for (row, message) in zip(rows, outgoing) where message.hold == nil {
      messages.append(
        StoredMessage(number: Int64(try row.int(0)), message: message, mayBeOut: false, owner: owner))
    }
    return messages
  }
}
