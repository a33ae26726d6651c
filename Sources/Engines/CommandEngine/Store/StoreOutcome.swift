/// Outcome of a transaction that did not fail.
public enum StoreOutcome<Value: Sendable>: Sendable {
  /// It is committed.
  /// - Parameters:
  ///   - value: result of the body.
  ///   - messages: messages to publish now, in the order they were sent. Held ones are not among them.
  case stored(Value, messages: [StoredMessage])
  /// Another writer was faster: nothing is stored, and the same may succeed once everything is read again.
  case conflict(StoreConflict)
}

/// Reason to read again: another writer changed what a transaction rests on. Its description is safe to log.
public enum StoreConflict: Sendable, Hashable, CustomStringConvertible {
  /// A record has another version, or is gone, or another one has its new ID.
  case changed(RecordKind)
  /// Another record holds a unique key.
  case taken(KeySpace)
  /// The message has another inbox entry by now.
  case received
  /// Two writers waited for each other, and the store ended this one.
  case crossed

  public var description: String {
    switch self {
    case .changed(let kind): "another writer changed a record of the kind \(kind)"
    case .taken(let space): "another record holds the key \(space)"
    case .received: "another writer took the same message"
    case .crossed: "another writer waited for the same rows"
    }
  }
}

/// Records that a sweep asks for.
public struct DueClaim: Sendable {
  /// Kind of the records.
  public var kind: RecordKind
  /// The most records, 1...``StoreLimits/maxDueRecords``.
  public var limit: Int
  /// Delay of a record that is stepped around.
  public var pause: Duration
  /// Makes further keys to load, from the claimed records. It may run more than once.
  public var also: (@Sendable ([Record]) throws(StoreError) -> StoreKeys)?

  /// - Parameters:
  ///   - kind: kind of the records.
  ///   - limit: the most records, 1...``StoreLimits/maxDueRecords``.
  ///   - pause: delay of a record that is stepped around: another version of the program may run by then.
  ///   - also: makes further keys to load, from the claimed records.
  public init(
    _ kind: RecordKind, limit: Int = 256, pause: Duration = .seconds(3600),
    also: (@Sendable ([Record]) throws(StoreError) -> StoreKeys)? = nil
  ) {
    self.kind = kind
    self.limit = limit
    self.pause = pause
    self.also = also
  }
}

/// Outcome of a sweep.
public struct Swept<Result: Sendable>: Sendable {
  /// Result of the body.
  public var result: Result
  /// Rows that were due and are no longer, the unreadable ones included; as many as the limit if there may be more.
  public var rows: Int
  /// Rows that the store could not read, and stepped around.
  public var unreadable: Int
  /// Records that the body left as they were, and that were put off.
  public var untouched: Int

  /// - Parameters:
  ///   - result: result of the body.
  ///   - rows: rows that were due and are no longer.
  ///   - unreadable: rows that the store could not read.
  ///   - untouched: records that the body left as they were.
  public init(result: Result, rows: Int, unreadable: Int, untouched: Int) {
    self.result = result
    self.rows = rows
    self.unreadable = unreadable
    self.untouched = untouched
  }
}

/// Part of a store that is purged.
public enum StorePart: String, Sendable, Hashable, CaseIterable {
  /// Inbox entries whose ``InboxEntry/keepUntil`` has passed.
  case inbox
  /// Cells of counters whose time has passed.
  case counters
  /// Records that are never due, and whose ``Record/discardAt`` has passed.
  case records
}

/// Figures of a store.
public struct StoreFigures: Sendable, Hashable {
  /// Messages in the outbox, the held ones and those that are set aside included.
  public var messages: Int
  /// Messages that are set aside because no running version can read them.
  public var setAside: Int

  /// - Parameters:
  ///   - messages: messages in the outbox.
  ///   - setAside: messages that are set aside.
  public init(messages: Int, setAside: Int) {
    self.messages = messages
    self.setAside = setAside
  }
}
