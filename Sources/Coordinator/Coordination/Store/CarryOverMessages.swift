import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Recorded replies, and the reserved places of commands that wait.
struct InboxTable: CarryOverTable {
  let table = "inbox"
  let companions = [lastWithoutSender]
  let retention: Duration
  /// Number of the last row whose key has no sender. Such a row goes: nobody looks it up.
  let lastNumber: Int

  /// Table with the number of the last row from before keys had senders.
  static let lastWithoutSender = "inbox_without_sender"
  /// A command that is answered later keeps its place for so long at least.
  private static let longestWait = Duration.seconds(3600)

  func keys(of row: EarlierRow, at now: UnixTime) throws(StoreError) -> StoreKeys {
    var keys = StoreKeys()
    keys.add(message: try key(of: row))
    return keys
  }

  private func key(of row: EarlierRow) throws(StoreError) -> InboxKey { try InboxKey(row.text("key")) }

  func put(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
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
struct OutboxTable: CarryOverTable {
  let table = "outbox"
  /// The process before may have published them, and not have noted it.
  let mayBeOut = true

  func put(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
    for message in try EarlierOutbox.messages(row.blob("messages")) { try set.send(message) }
  }
}

/// Jobs that wait for the reply to their command.
struct HeldJobTable: CarryOverTable {
  let table = "held_job"

  func put(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
    let command = try InboxKey(row.text("command_id"))
    // A later time is the mark of a row that could not be read, or was written before the clock was set back.
    let end = min(try row.time("due_at"), set.now + Self.maxHold)
    for message in try EarlierOutbox.messages(row.blob("messages")) {
      try set.send(message, afterReplyTo: command, orAt: end)
    }
  }

  /// Longest wait for the reply.
  private static let maxHold = Duration.seconds(30)
}

/// Counts of the limits.
struct UsageTable: CarryOverTable {
  let table = "usage"

  func put(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
    let subject = try row.text("subject")
    for entry in try EarlierUsage(text: row.text("counts")).entries where !entry.isOver(at: set.now) {
      set.count(
        try CounterKey(limit: entry.limit, subject: subject), in: entry.at.milliseconds, by: entry.count,
        keepUntil: entry.end)
    }
  }

  func isOver(_ row: EarlierRow, at now: UnixTime) throws(StoreError) -> Bool { try row.time("expires_at") <= now }
}
