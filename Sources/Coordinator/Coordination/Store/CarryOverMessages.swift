import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Recorded replies, and the reserved places of commands that wait.
struct InboxTable: EarlierCarrier {
  let table = "inbox"
  let companions = [lastWithoutSender]
  let retention: Duration
  /// Number of the last row whose key has no sender. Such a row goes: nobody looks it up.
  let lastNumber: Int

  /// Table with the number of the last row from before keys had senders.
  static let lastWithoutSender = "inbox_without_sender"
  /// A command that is answered later keeps its place for so long at least.
  private static let longestWait = Duration.seconds(3600)

  func addKeys(of row: EarlierRow, to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    keys.add(message: try key(of: row))
  }

  private func key(of row: EarlierRow) throws(StoreError) -> InboxKey { try InboxKey(row.text("key")) }

  func carry(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
    let keepUntil = try keepUntil(row, at: set.now)
    guard keepUntil > set.now, try row.int("number") > lastNumber else { return }
    let key = try key(of: row)
    guard try set.message(key) == nil else { return }
    try set.set(
      InboxEntry(state(of: row), fingerprint: row.blob("fingerprint"), keepUntil: keepUntil), of: key)
  }

  private func state(of row: EarlierRow) throws(StoreError) -> InboxEntry.State {
    if try row.bool("pending") { return .reserved }
    let type = try row.text("reply_type")
    guard MessageType(parsing: type) != nil else {
      throw StoreError(.content, "a recorded reply has a type that cannot be read")
    }
    return .replied(type: type, body: try row.blob("reply"))
  }

  /// A time in the future was written before the clock was set back.
  private func keepUntil(_ row: EarlierRow, at now: UnixTime) throws(StoreError) -> UnixTime {
    let kept = max(retention, try row.bool("pending") ? Self.longestWait : .zero)
    return min(try row.time("received_at"), now) + kept
  }

  func isOver(_ row: EarlierRow, at now: UnixTime) throws(StoreError) -> Bool {
    try keepUntil(row, at: now) <= now
  }
}

/// Messages that were not confirmed yet, a row for each transaction.
struct OutboxTable: EarlierCarrier {
  let table = "outbox"
  /// The process before may have published them, and not have noted it.
  let mayBeOut = true

  func carry(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
    for message in try EarlierOutbox.messages(row.blob("messages")) { try set.send(message) }
  }
}

/// Jobs that wait for the reply to their command.
struct HeldJobTable: EarlierCarrier {
  let table = "held_job"

  func carry(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
    let command = try InboxKey(row.text("command_id"))
    // A later time is the mark of a row that could not be read, or was written before the clock was set back.
    let end = min(try row.time("due_at"), set.now + Self.maxHold)
    for message in try EarlierOutbox.messages(row.blob("messages")) {
      try set.send(message, afterReplyTo: command, orAt: end)
    }
  }

  private static let maxHold = Duration.seconds(30)
}

/// Counts of the limits.
struct UsageTable: EarlierCarrier {
  let table = "usage"

  func carry(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
    let subject = try row.text("subject")
    for entry in try EarlierUsage(text: row.text("counts")).entries where !entry.isOver(at: set.now) {
      set.count(
        try CounterKey(limit: entry.limit, subject: subject), in: entry.at.milliseconds, by: entry.count,
        keepUntil: entry.end)
    }
  }

  func isOver(_ row: EarlierRow, at now: UnixTime) throws(StoreError) -> Bool { try row.time("expires_at") <= now }
}

/// Reads the messages of a row of the tables `outbox` and `held_job`, which versions before the command engine wrote.
///
/// A row holds the messages of one transaction: a version, then each message as its fields, strings after their length.
enum EarlierOutbox {
  private static let version: UInt8 = 1

  static func messages(_ bytes: [UInt8]) throws(StoreError) -> [OutgoingMessage] {
    guard bytes.first == version else { throw unreadable }
    var reader = Reader(bytes: bytes[1...])
    var messages: [OutgoingMessage] = []
    while !reader.bytes.isEmpty {
      guard let message = message(&reader) else { throw unreadable }
      messages.append(message)
    }
    return messages
  }

  private static let unreadable = StoreError(
    .content,
    "messages of an earlier row cannot be read: they are damaged, or another version of the program wrote them")

  private static func message(_ reader: inout Reader) -> OutgoingMessage? {
    guard let duty = reader.bytes.popFirst().flatMap(OutgoingMessage.Duty.init(rawValue:)),
      let exchange = reader.string(), let routingKey = reader.string(), let type = reader.string(),
      let messageID = reader.string(), let correlationID = reader.optionalString(),
      let causationID = reader.optionalString(), let traceparent = reader.optionalString(),
      let timestamp = reader.integer(), let discardAfter = reader.integer(), let body = reader.block()
    else { return nil }
    var message = OutgoingMessage(
      duty, to: (exchange, routingKey), type: MessageType(parsing: type) ?? MessageType(type), messageID: messageID,
      correlationID: correlationID, cause: nil, at: UnixTime(milliseconds: timestamp), body: Array(body))
    message.causationID = causationID
    message.traceparent = traceparent
    message.discardAfter = discardAfter == .max ? nil : UnixTime(milliseconds: discardAfter)
    return message
  }

  /// Lengths are stored plus one, so that zero stands for "absent".
  private struct Reader {
    var bytes: ArraySlice<UInt8>

    mutating func integer() -> Int64? {
      guard bytes.count >= 8 else { return nil }
      defer { bytes = bytes.dropFirst(8) }
      return bytes.prefix(8).reduce(0) { $0 << 8 | Int64($1) }
    }

    mutating func optionalBlock() -> ArraySlice<UInt8>?? {
      guard bytes.count >= 4 else { return nil }
      let length = bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
      bytes = bytes.dropFirst(4)
      guard length > 0 else { return .some(nil) }
      guard bytes.count >= length - 1 else { return nil }
      defer { bytes = bytes.dropFirst(length - 1) }
      return bytes.prefix(length - 1)
    }

    mutating func block() -> ArraySlice<UInt8>? { optionalBlock() ?? nil }

    mutating func string() -> String? { block().map { String(decoding: $0, as: UTF8.self) } }

    mutating func optionalString() -> String?? {
      optionalBlock().map { $0.map { String(decoding: $0, as: UTF8.self) } }
    }
  }
}

/// The counts of one subject as versions before the command engine stored them:
/// `<rule>:<window in ms>=<time>*<count>,…;…`, with the time of the first entry in full and the others as the distance
/// from the previous one.
struct EarlierUsage: Sendable, Hashable {
  /// Events of one limit in one slot.
  struct Entry: Sendable, Hashable {
    var limit: String
    var at: UnixTime
    var count: Int64
    /// Time from which they no longer count.
    var end: UnixTime
    fileprivate var window: Duration

    /// Whether they no longer count, or cannot have happened.
    func isOver(at now: UnixTime) -> Bool { end <= now || at - window > now }
  }

  let entries: [Entry]

  init(text: String) throws(StoreError) {
    var entries: [Entry] = []
    for part in text.utf8.split(separator: UInt8(ascii: ";")) {
      var rest = part
      guard let name = Self.take(&rest, until: UInt8(ascii: ":")), Limit.counters.contains(String(name)),
        let length = Self.take(&rest, until: UInt8(ascii: "=")).flatMap({ Int64($0) }), length > 0
      else { throw Self.unreadable }
      try Self.read(rest, of: String(name), window: .milliseconds(length), into: &entries)
    }
    self.entries = entries
  }

  private static func read(
    _ pairs: Substring.UTF8View, of limit: String, window: Duration, into entries: inout [Entry]
  ) throws(StoreError) {
    var at = UnixTime(milliseconds: 0)
    for pair in pairs.split(separator: UInt8(ascii: ",")) {
      var pair = pair
      guard let distance = take(&pair, until: UInt8(ascii: "*")).flatMap({ Int64($0) }), distance >= 0,
        let count = Int64(Substring(pair)), count > 0
      else { throw unreadable }
      at += .milliseconds(distance)
      entries.append(Entry(limit: limit, at: at, count: count, end: at + window, window: window))
    }
  }

  private static func take(_ rest: inout Substring.UTF8View, until end: UInt8) -> Substring? {
    guard let index = rest.firstIndex(of: end) else { return nil }
    defer { rest = rest[rest.index(after: index)...] }
    return Substring(rest[..<index])
  }

  private static let unreadable = StoreError(.content, "counts of an earlier row cannot be read")
}
