public import CountersignTelemetry
import SQLite

struct SQLiteOutbox {
  let session: Session
  let owner: Int64

  // MARK: Settling

  static let finishRange = "DELETE FROM store_outbox WHERE number BETWEEN ? AND ? AND owner = ?"
  /// Takes back the count of the claim: the message is not out.
  static let postpone = "UPDATE store_outbox SET retry = ?, tries = max(tries - 1, 0) WHERE number = ? AND owner = ?"

  func settle(_ settlement: OutboxSettlement) throws(StoreError) {
    for range in Self.ranges(of: settlement.finished) {
      try session.execute(
        Self.finishRange, [.integer(range.lowerBound), .integer(range.upperBound), .integer(owner)])
    }
    for (number, time) in settlement.postponed {
      try session.execute(
        Self.postpone, [.integer(min(time.milliseconds, SetAside.latest)), .integer(number), .integer(owner)])
    }
    for number in settlement.setAside {
      try session.execute(Self.postpone, [.integer(SetAside.mark), .integer(number), .integer(owner)])
    }
  }

  /// Runs of consecutive numbers: a batch's messages usually go with one statement.
  static func ranges(of numbers: [Int64]) -> [ClosedRange<Int64>] {
    var ranges: [ClosedRange<Int64>] = []
    for number in numbers.sorted() {
      if let last = ranges.last, number <= last.upperBound + 1 {
        ranges[ranges.count - 1] = last.lowerBound...number
      } else {
        ranges.append(number...number)
      }
    }
    return ranges
  }

  // MARK: Claiming

  static let columns = OutboxColumn.list()
  static let due = """
    SELECT \(columns) FROM store_outbox WHERE owner = ? AND retry >= 0 AND retry <= ? ORDER BY retry, number LIMIT ?
    """
  /// Rows that are due later than any delay is long: the clock has been set back since.
  static let ahead = """
    SELECT \(columns) FROM store_outbox WHERE owner = ? AND retry > ? AND retry < ? ORDER BY retry, number LIMIT ?
    """
  static let inHand = """
    SELECT \(columns) FROM store_outbox
    WHERE number >= (SELECT first FROM store_owner WHERE number = ?) AND owner = ? AND retry IS NULL
    ORDER BY number LIMIT ?
    """
  /// Rows that a dead owner had put off. What it held waits for the reply, which comes again.
  static let left = """
    SELECT \(columns) FROM store_outbox
    WHERE owner = ? AND retry IS NOT NULL AND (hold IS NULL OR retry <= ? OR retry > ?)
    ORDER BY retry, number LIMIT ?
    """
  /// A row that a dead owner had in hand counts twice, so that the count stays above 0 however often it is postponed.
  static let claim = """
    UPDATE store_outbox SET owner = ?, retry = NULL, hold = NULL, tries = tries + 1 + (retry IS NULL) WHERE number = ?
    """
  static let held = "SELECT \(columns) FROM store_outbox WHERE hold = ? ORDER BY number"

  func claim(_ limit: Int, of dead: [Int64], at now: UnixTime) throws(StoreError) -> [StoredMessage] {
    let (time, horizon) = (Value.integer(now.milliseconds), Value.integer(Self.horizon(now).milliseconds))
    var rows: [StoredMessage] = []
    for owner in dead where rows.count < limit {
      rows += try takeOver(owner, limit - rows.count)
      guard rows.count < limit else { break }
      rows += try select(Self.left, [.integer(owner), time, horizon, Value(limit - rows.count)])
    }
    if rows.count < limit { rows += try select(Self.due, [.integer(owner), time, Value(limit - rows.count)]) }
    if rows.count < limit {
      rows += try select(
        Self.ahead, [.integer(owner), horizon, .integer(SetAside.mark), Value(limit - rows.count)])
    }
    return try take(rows)
  }

  private func takeOver(_ dead: Int64, _ limit: Int) throws(StoreError) -> [StoredMessage] {
    let rows = try select(Self.inHand, [.integer(dead), .integer(dead), Value(limit)])
    let isAll = rows.count < limit
    try session.execute(
      Self.advance, [.integer(isAll ? Self.nothingInHand : (rows.last?.number ?? 0) + 1), .integer(dead)])
    return rows
  }

  static func horizon(_ now: UnixTime) -> UnixTime { StoreLimits.horizon(now) }

  func release(_ command: InboxKey) throws(StoreError) -> [StoredMessage] {
    try take(try select(Self.held, [.blob(command.bytes)]))
  }

  private func select(_ sql: String, _ values: [Value]) throws(StoreError) -> [StoredMessage] {
    try session.query(sql, values) { row in
      StoredMessage(
        number: Int64(row.int(OutboxColumn.number)),
        message: OutboxMessage(
          type: row.text(OutboxColumn.type), content: row.blob(OutboxColumn.content),
          discardAt: row.optionalTime(OutboxColumn.discard)),
        mayBeOut: row.int(OutboxColumn.tries) > 0
          || (row.optionalInt(OutboxColumn.retry) == nil && Int64(row.int(OutboxColumn.owner)) != owner))
    }
  }

  private func take(_ rows: [StoredMessage]) throws(StoreError) -> [StoredMessage] {
    let rows = rows.sorted { $0.number < $1.number }
    for row in rows { try session.execute(Self.claim, [.integer(owner), .integer(row.number)]) }
    // Messages of another owner may be older than this one.
    if let first = rows.first { try session.execute(Self.lower, [.integer(first.number), .integer(owner)]) }
    return rows
  }

  static let anythingDue = "SELECT 1 FROM store_outbox WHERE owner = ? AND retry >= 0 AND retry <= ? LIMIT 1"
  static let anythingAhead = "SELECT 1 FROM store_outbox WHERE owner = ? AND retry > ? AND retry < ? LIMIT 1"

  func isAnythingDue(at now: UnixTime) throws(StoreError) -> Bool {
    let own = Value.integer(owner)
    if try session.first(Self.anythingDue, [own, .integer(now.milliseconds)], { $0.int(0) }) != nil { return true }
    let horizon = Value.integer(Self.horizon(now).milliseconds)
    return try session.first(Self.anythingAhead, [own, horizon, .integer(SetAside.mark)]) { $0.int(0) } != nil
  }

  // MARK: Owners

  static let owners = "SELECT number FROM store_owner WHERE number <> ?"
  static let enroll =
    "INSERT INTO store_owner (number, first) SELECT ?, last + 1 FROM store_sequence WHERE name = 'outbox'"
  static let lower = "UPDATE store_owner SET first = min(first, ?) WHERE number = ?"
  static let advance = "UPDATE store_owner SET first = ? WHERE number = ?"
  static let forget = """
    DELETE FROM store_owner WHERE number = ? AND first = \(nothingInHand) AND NOT EXISTS (
      SELECT 1 FROM store_outbox WHERE owner = store_owner.number AND retry IS NOT NULL)
    """
  /// First message of a dead owner that had none in hand, or no longer has.
  private static let nothingInHand = Int64.max

  func others() throws(StoreError) -> [Int64] {
    try session.query(Self.owners, [.integer(owner)]) { Int64($0.int(0)) }
  }

  func forget(_ dead: Int64) throws(StoreError) {
    try session.execute(Self.forget, [.integer(dead)])
  }
}

extension SQLiteStore {
  public func claimMessages(limit: Int, at now: UnixTime) async throws(StoreError) -> [StoredMessage] {
    try StoreError.check(limit, 1...StoreLimits.maxClaimedMessages, "a claim of messages")
    let own = owners.own
    let (dead, isAnything) = try await look { [owners] session throws(StoreError) in
      let outbox = SQLiteOutbox(session: session, owner: own)
      let dead = try outbox.others().filter { !owners.isLiving($0) }
      return (dead, try outbox.isAnythingDue(at: now))
    }
    // Usually there is nothing, and a look costs no commit.
    guard isAnything || !dead.isEmpty else { return [] }
    return try await change { session throws(StoreError) in
      let outbox = SQLiteOutbox(session: session, owner: own)
      let messages = try outbox.claim(limit, of: dead, at: now)
      for owner in dead { try outbox.forget(owner) }
      return messages
    }
  }

  public func release(heldBy commands: [InboxKey], at now: UnixTime) async throws(StoreError) -> [StoredMessage] {
    let own = owners.own
    return try await change { session throws(StoreError) in
      let outbox = SQLiteOutbox(session: session, owner: own)
      var messages: [StoredMessage] = []
      for command in commands { messages += try outbox.release(command) }
      return messages.sorted { $0.number < $1.number }
    }
  }

  /// The lock of an owner ends with its process only.
  public func owned(_ messages: [StoredMessage]) async -> [StoredMessage] { messages }

  public func settle(_ settlement: OutboxSettlement) async throws(StoreError) {
    guard !settlement.isEmpty else { return }
    let own = owners.own
    try await change { session throws(StoreError) -> Void in
      try SQLiteOutbox(session: session, owner: own).settle(settlement)
    }
  }

  public func figures() async throws(StoreError) -> StoreFigures {
    try await look { session throws(StoreError) in
      func count(_ condition: String) throws(StoreError) -> Int {
        try session.first("SELECT count(*) FROM store_outbox \(condition)", []) { $0.int(0) } ?? 0
      }
      return StoreFigures(
        messages: try count(""), setAside: try count("WHERE retry = \(SetAside.mark)"))
    }
  }
}
