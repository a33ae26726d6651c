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

/// Failure of a store. Its description is safe to log: names of kinds and keys, paths, never IDs, hashes or bodies.
///
/// A conflict with another writer is not a failure: see ``StoreConflict``.
public struct StoreError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of a failure. More may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private enum Kind: String {
      case content, tooLarge, taken, notLoaded, misuse, statement
      case busy, conflict, overloaded, full, io, damaged, readOnly, unavailable, schema, closed
    }

    private let kind: Kind

    /// A record holds what the program cannot read or write. Thrown by flows only.
    public static let content = Code(kind: .content)
    /// A value exceeds one of ``StoreLimits``, or a body looks up more in turn than they allow.
    public static let tooLarge = Code(kind: .tooLarge)
    /// A record claims a unique key that another record of the same working set holds.
    public static let taken = Code(kind: .taken)
    /// A flow looked up what is not loaded yet. It leaves the flow as it is: the store loads that, and runs the flow again.
    public static let notLoaded = Code(kind: .notLoaded)
    /// A mistake in the program that calls.
    public static let misuse = Code(kind: .misuse)
    /// A statement that the store does not take: a mistake in its implementation, or a damaged table.
    public static let statement = Code(kind: .statement)
    /// Other processes held the store for longer than its time-out.
    public static let busy = Code(kind: .busy)
    /// Other writers changed the same in every attempt. See ``StoreConflict``. Thrown by callers of a store.
    public static let conflict = Code(kind: .conflict)
    /// Too many calls wait.
    public static let overloaded = Code(kind: .overloaded)
    /// No space is left.
    public static let full = Code(kind: .full)
    /// The store could not read or write. After a failed commit it is not known whether it took place.
    public static let io = Code(kind: .io)
    /// The store is damaged.
    public static let damaged = Code(kind: .damaged)
    /// The store takes no writes.
    public static let readOnly = Code(kind: .readOnly)
    /// The store cannot be opened or reached.
    public static let unavailable = Code(kind: .unavailable)
    /// The tables are missing, or of another version of the program: an operator has to act.
    public static let schema = Code(kind: .schema)
    /// The store was closed.
    public static let closed = Code(kind: .closed)

    public var description: String { kind.rawValue }
  }

  /// Cause of a failure.
  public enum Fault: Sendable, Hashable {
    /// The content or the affected record: others are not affected.
    case content
    /// Either: whether it meets every message, or one alone, decides.
    case doubtful
    /// The store or its environment: every message is affected, and none must suffer for it.
    case store
  }

  /// The kind of the failure.
  public var code: Code
  /// The failure, and its remedy if an operator can fix it.
  public var message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// Cause of the failure: it decides whether a message is given up or waits.
  public var fault: Fault {
    switch code {
    case .content, .tooLarge, .taken: .content
    case .notLoaded, .misuse, .statement, .conflict: .doubtful
    default: .store
    }
  }

  /// Whether the store takes no writes, of which its health tells: competition and load pass by themselves.
  package var isOutage: Bool { fault == .store && code != .busy && code != .overloaded }

  /// Whether the same call may succeed later, nothing but the circumstances having changed.
  public var isRetriable: Bool {
    switch code {
    case .busy, .conflict, .overloaded, .full, .io, .unavailable: true
    default: false
    }
  }

  public var description: String { "\(message) (\(code))" }
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
