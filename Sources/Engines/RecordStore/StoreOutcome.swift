public import CountersignTelemetry

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

/// Records that a sweep asks for.
public struct DueClaim: Sendable {
  /// Kind of the records.
  public var kind: RecordKind
  /// The most records, 1...``StoreLimits/maxDueRecords``.
  public var limit: Int
  /// Delay before a skipped record is tried again.
  public var pause: Duration

  public init(_ kind: RecordKind, limit: Int = 256, pause: Duration = .seconds(3600)) {
    self.kind = kind
    self.limit = limit
    self.pause = pause
  }
}

/// Outcome of a sweep.
public struct Swept<Result: Sendable>: Sendable {
  /// Result of the body.
  public var result: Result
  /// Rows that were due and are no longer, the unreadable ones included. As many as the limit if there may be more.
  public var rows: Int
  /// Rows that the store could not read and skipped.
  public var unreadable: Int
  /// Records that the body left as they were, and that were put off.
  public var untouched: Int

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

  public init(messages: Int, setAside: Int) {
    self.messages = messages
    self.setAside = setAside
  }
}

extension StoreError {
  static func check(_ size: Int, _ bounds: ClosedRange<Int>, _ what: String) throws(StoreError) {
    guard bounds.contains(size) else {
      throw StoreError(.tooLarge, "\(what) of \(size) is outside \(bounds.lowerBound)...\(bounds.upperBound)")
    }
  }

  static func check(_ text: String, _ what: String) throws(StoreError) {
    guard !text.utf8.contains(0) else { throw StoreError(.content, "\(what) has a zero byte") }
  }
}

extension StoreConflict {
  /// A record has another version, or is gone, or another one has its new ID.
  public static func changed(_ kind: RecordKind) -> StoreConflict {
    StoreConflict("changed", "another writer changed a record of the kind ", kind.description)
  }

  /// Another record holds a unique key.
  public static func taken(_ space: KeySpace) -> StoreConflict {
    StoreConflict("taken", "another record holds the key ", space.description)
  }

  /// The message has another inbox entry by now.
  public static let received = StoreConflict("received", "another writer took the same message")
  /// Two writers waited for each other, and the store ended this one.
  public static let crossed = StoreConflict("crossed", "another writer waited for the same rows")
}
