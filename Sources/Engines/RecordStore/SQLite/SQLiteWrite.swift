import CountersignTelemetry
import SQLite

/// A guard that does not hold ends it as a conflict.
struct SQLiteWrite {
  let session: Session
  let owner: Int64
  let now: UnixTime

  func write(_ changes: StoreChanges, forClaims: Bool = false) throws(StoreError) -> [StoredMessage] {
    try write(changes.messages)
    try write(changes.records)
    for key in changes.forgotten { try session.execute(Self.forgetCounter, [.blob(key.bytes)]) }
    try write(changes.increments)
    return try write(changes.outgoing, forClaims: forClaims)
  }

  // MARK: Inbox and counters

  static let insertMessages = BulkInsert(
    "store_inbox (key, state, fingerprint, type, reply, keep)", columns: 6, "ON CONFLICT (key) DO NOTHING")
  static let updateMessage = """
    UPDATE store_inbox SET state = ?, fingerprint = ?, type = ?, reply = ?, keep = ? WHERE key = ? AND state = 0
    """

  private func write(_ messages: [StoreChanges.Message]) throws(StoreError) {
    for message in messages where !message.isNew {
      var values: [Value] = []
      message.entry.append(to: &values)
      values.append(.blob(message.key.bytes))
      guard try session.execute(Self.updateMessage, values) == 1 else { throw StoreError(.received) }
    }
    let new = messages.filter(\.isNew)
    let rows = try Self.insertMessages.run(new, session) { message, values in
      values.append(.blob(message.key.bytes))
      message.entry.append(to: &values)
    }
    guard rows == new.count else { throw StoreError(.received) }
  }

  static let forgetCounter = "DELETE FROM store_counter WHERE key = ?"
  static let addIncrements = BulkInsert(
    "store_counter (key, slot, count, keep)", columns: 4,
    "ON CONFLICT (key, slot) DO UPDATE SET count = count + excluded.count, keep = max(keep, excluded.keep)")

  private func write(_ increments: [StoreChanges.Increment]) throws(StoreError) {
    try Self.addIncrements.run(increments, session) { increment, values in
      values.append(.blob(increment.key.bytes))
      values.append(.integer(increment.slot))
      values.append(.integer(increment.count))
      values.append(.integer(increment.keepUntil.milliseconds))
    }
  }

  // MARK: Outbox

  static let insertOutbox = BulkInsert(
    "store_outbox (number, owner, retry, discard, hold, tries, type, content)", columns: 8)

  private func write(_ messages: [OutboxMessage], forClaims: Bool) throws(StoreError) -> [StoredMessage] {
    guard !messages.isEmpty else { return [] }
    let first = try SQLiteSequence.take(messages.count, .outbox, session)
    var number = first
    try Self.insertOutbox.run(messages, session) { message, values in
      values.append(Value(number))
      values.append(.integer(owner))
      values.append(Value(retry(message, forClaims)?.milliseconds))
      values.append(Value(message.discardAt?.milliseconds))
      values.append(Value(message.hold?.command.bytes))
      values.append(0)
      values.append(.text(message.type))
      values.append(.blob(message.content))
      number += 1
    }
    if forClaims { return [] }
    return messages.enumerated().compactMap { place, message in
      guard message.hold == nil else { return nil }
      return StoredMessage(number: Int64(first + place), message: message, mayBeOut: false)
    }
  }

  private func retry(_ message: OutboxMessage, _ forClaims: Bool) -> UnixTime? {
    message.hold?.until ?? (forClaims ? now : nil)
  }
}

/// Numbers of rows, which are never used twice.
enum SQLiteSequence: String {
  case record, outbox

  static let statement = "UPDATE store_sequence SET last = last + ? WHERE name = ? RETURNING last"

  static func take(_ count: Int, _ sequence: SQLiteSequence, _ session: Session) throws(StoreError) -> Int {
    let last = try session.first(statement, [Value(count), .text(sequence.rawValue)]) { $0.int(0) }
    guard let last else { throw StoreError(.damaged, "the table store_sequence has no row \(sequence.rawValue)") }
    return last - count + 1
  }
}

/// Inserts rows into one table, many with each statement: a statement costs as much as a row or two.
///
/// A row that fails leaves those before it (`OR FAIL`), which the body's own undoing removes. Otherwise SQLite would
/// copy each page before it changes, to undo the statement alone.
struct BulkInsert {
  /// Rows of one statement, of which there are three for each table.
  static let chunks = [32, 8, 1]

  let statements: [String]
  private let columns: Int

  init(_ table: String, columns: Int, _ tail: String = "") {
    let row = "(" + Array(repeating: "?", count: columns).joined(separator: ", ") + ")"
    // SQLite takes ON CONFLICT behind a list of rows as it does behind one.
    statements = Self.chunks.map {
      "INSERT OR FAIL INTO \(table) VALUES \(Array(repeating: row, count: $0).joined(separator: ", ")) \(tail)"
    }
    self.columns = columns
  }

  @discardableResult
  func run<Row>(
    _ rows: [Row], _ session: Session, _ append: (Row, inout [Value]) -> Void
  ) throws(StoreError) -> Int {
    var done = 0
    var next = 0
    var values: [Value] = []
    values.reserveCapacity(columns * min(rows.count, Self.chunks[0]))
    for (count, statement) in zip(Self.chunks, statements) {
      while rows.count - next >= count {
        values.removeAll(keepingCapacity: true)
        for row in rows[next..<(next + count)] { append(row, &values) }
        done += try session.execute(statement, values)
        next += count
      }
    }
    return done
  }
}
