public import CountersignTelemetry
import PostgreSQL
import Synchronization

extension PostgreSQLStore {
  public func claimMessages(limit: Int, at now: UnixTime) async throws(StoreError) -> [StoredMessage] {
    try StoreError.check(limit, 1...StoreLimits.maxClaimedMessages, "a claim of messages")
    let outbox = PostgreSQLOutbox(limit: limit, now: now)
    let own = owner
    let (isAnyoneDead, isAnythingDue) = try await look { session throws(StoreError) in
      try outbox.look(session, own.current.number)
    }
    // Usually there is nothing, and a look costs no commit.
    guard isAnyoneDead || isAnythingDue else { return [] }
    return try await change { session throws(StoreError) in
      let number = own.current.number
      var messages = isAnyoneDead ? try outbox.claimLeft(session, number) : []
      if isAnythingDue, messages.count < limit {
        messages += try outbox.claimDue(session, number, limit: limit - messages.count)
      }
      return messages.sorted { $0.number < $1.number }
    }
  }

  public func release(heldBy commands: [InboxKey], at now: UnixTime) async throws(StoreError) -> [StoredMessage] {
    guard !commands.isEmpty else { return [] }
    let own = owner
    return try await once { session throws(StoreError) in
      try PostgreSQLOutbox.release(commands, session, own.current.number)
    }
  }

  public func settle(_ settlement: OutboxSettlement) async throws(StoreError) {
    guard !settlement.isEmpty else { return }
    let own = owner
    try await once { session throws(StoreError) -> Void in
      var write = PostgreSQLWrite(owner: own.current.number, at: UnixTime(milliseconds: 0))
      write.add(settlement, former: own.former)
      _ = try write.run(session)
    }
  }

  public func figures() async throws(StoreError) -> StoreFigures {
    let (figures, snapshot) = try await look { session throws(StoreError) in
      try session.rows(PostgreSQLOutbox.figures, []) { row throws(StoreError) in
        (StoreFigures(messages: try row.int(0), setAside: try row.int(1)), try row.int(2))
      }[0]
    }
    figuresSoFar.withLock { $0.oldestSnapshot = snapshot }
    return figures
  }
}

extension PostgreSQLWrite {
  /// Deletes published rows, also when the session that had them in hand was lost since, unless another store has
  /// claimed them.
  static let finish = """
    DELETE FROM store_outbox WHERE number = ANY ($1::bigint[]) AND owner = ANY ($2::bigint[])
    """
  /// Takes back the count of the claim: the message is not out.
  static let postpone = """
    UPDATE store_outbox o SET retry = k.retry, tries = greatest(o.tries - 1, 0)
    FROM unnest($1::bigint[], $2::bigint[]) AS k (number, retry) WHERE o.number = k.number AND o.owner = $3::bigint
    """

  mutating func add(_ settlement: OutboxSettlement, former: [Int64]) {
    if !settlement.finished.isEmpty {
      add(Self.finish, [.integers(settlement.finished.sorted()), .integers(former + [owner])])
    }
    var fates = settlement.postponed.map { (number: $0.key, retry: min($0.value.milliseconds, SetAside.latest)) }
    fates += settlement.setAside.map { ($0, SetAside.mark) }
    guard !fates.isEmpty else { return }
    fates.sort { $0.number < $1.number }
    add(
      Self.postpone, [.integers(fates.map(\.number)), .integers(fates.map(\.retry)), .integer(owner)])
  }
}

struct PostgreSQLOutbox: Sendable {
  let limit: Int
  let now: UnixTime

  private var times: [PostgreSQLValue] {
    [.integer(now.milliseconds), .integer(StoreLimits.horizon(now).milliseconds)]
  }

  /// A row that is due, or due later than any delay is long: the clock has been set back since.
  private static let isDue = "o.retry <= $2 OR (o.retry > $3 AND o.retry < \(SetAside.mark))"

  static let look = """
    SELECT EXISTS (SELECT FROM store_owner w WHERE w.number <> $1 AND w.number <> ALL (\(StoreOwner.owners.living))),
      EXISTS (SELECT FROM store_outbox o WHERE o.owner = $1 AND o.retry IS NOT NULL AND (\(isDue)))
    """

  func look(
    _ session: PostgreSQLSession, _ owner: Int64
  ) throws(StoreError) -> (isAnyoneDead: Bool, isAnythingDue: Bool) {
    try session.rows(Self.look, [.integer(owner)] + times) { row throws(StoreError) in
      (try row.bool(0), try row.bool(1))
    }[0]
  }

  // MARK: Claiming

  /// One that a dead owner had in hand counts twice, so that the count stays above 0 however often it is postponed.
  private static let take = """
    UPDATE store_outbox o SET owner = $1, retry = NULL, hold = NULL,
      tries = o.tries + 1 + CASE WHEN picked.retry IS NULL THEN 1 ELSE 0 END
    FROM picked WHERE o.number = picked.number
    RETURNING o.number, o.type, o.content, o.discard, picked.tries > 0 OR picked.retry IS NULL
    """
  static let claimDue = """
    WITH picked AS MATERIALIZED (
      SELECT o.number, o.retry, o.tries FROM store_outbox o
      WHERE o.owner = $1 AND o.retry IS NOT NULL AND (\(isDue))
      ORDER BY o.retry, o.number LIMIT $4 FOR UPDATE SKIP LOCKED)
    \(take)
    """
  /// Owners that no longer run, as long as no other session finds them so. The lock alone decides: a look at the locks
  /// in the same statement may come after it, and count the lock that was just taken as the owner's.
  static let dead = """
    SELECT w.number FROM store_owner w
    WHERE w.number <> $1 AND \(StoreOwner.owners.claim("w.number"))
    ORDER BY w.number
    """
  /// Messages that dead owners had in hand come before those that they had put off. Those that they held wait for the
  /// reply, which comes again.
  static let claimLeft = """
    WITH picked AS MATERIALIZED (
      SELECT o.number, o.retry, o.tries FROM store_outbox o
      WHERE o.owner = ANY ($5::bigint[]) AND (o.retry IS NULL OR o.hold IS NULL OR \(isDue))
      ORDER BY o.retry IS NOT NULL, o.number LIMIT $4 FOR UPDATE SKIP LOCKED)
    \(take)
    """
  static let forget = """
    DELETE FROM store_owner w WHERE w.number = ANY ($1::bigint[])
      AND NOT EXISTS (SELECT FROM store_outbox o WHERE o.owner = w.number)
    """

  func claimDue(
    _ session: PostgreSQLSession, _ owner: Int64, limit: Int
  ) throws(StoreError) -> [StoredMessage] {
    try session.rows(Self.claimDue, [.integer(owner)] + times + [.integer(Int64(limit))]) {
      row throws(StoreError) in try Self.message(row, owner)
    }
  }

  func claimLeft(_ session: PostgreSQLSession, _ owner: Int64) throws(StoreError) -> [StoredMessage] {
    let dead = try session.rows(Self.dead, [.integer(owner)]) { row throws(StoreError) in
      Int64(try row.int(0))
    }
    guard !dead.isEmpty else { return [] }
    let results = try session.run([
      PostgreSQLStatement(
        Self.claimLeft, [.integer(owner)] + times + [.integer(Int64(limit)), .integers(dead)]),
      PostgreSQLStatement(Self.forget, [.integers(dead)]),
    ])
    return try Self.messages(results[0], owner)
  }

  static let held = """
    WITH picked AS MATERIALIZED (
      SELECT o.number, o.retry, o.tries FROM store_outbox o
      WHERE o.hold = ANY ($2::bytea[]) ORDER BY o.number FOR UPDATE SKIP LOCKED)
    \(take)
    """

  static func release(
    _ commands: [InboxKey], _ session: PostgreSQLSession, _ owner: Int64
  ) throws(StoreError) -> [StoredMessage] {
    try messages(
      try session.run([
        PostgreSQLStatement(held, [.integer(owner), .byteArrays(commands.map(\.bytes))])
      ])[0], owner)
  }

  private static func messages(
    _ rows: PostgreSQLRows, _ owner: Int64
  ) throws(StoreError) -> [StoredMessage] {
    var messages: [StoredMessage] = []
    for row in rows { messages.append(try message(row, owner)) }
    return messages.sorted { $0.number < $1.number }
  }

  private static func message(_ row: PostgreSQLRow, _ owner: Int64) throws(StoreError) -> StoredMessage {
    StoredMessage(
      number: Int64(try row.int(0)),
      message: OutboxMessage(
        type: try row.text(1), content: try row.bytes(2), discardAt: try row.optionalTime(3)),
      mayBeOut: try row.bool(4), owner: owner)
  }

  /// Snapshots whose dead rows cannot be removed: those of sessions of the database, standbys and replication slots.
  static let figures = """
    SELECT count(*), count(*) FILTER (WHERE retry = \(SetAside.mark)),
      greatest(
        (SELECT max(age(a.backend_xmin)) FROM pg_stat_activity a
          WHERE a.pid <> pg_backend_pid() AND (a.datname = current_database() OR a.datname IS NULL)),
        (SELECT max(age(s.xmin)) FROM pg_replication_slots s), 0)::bigint
    FROM store_outbox
    """
}
