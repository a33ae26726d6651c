/// Failure of a store. Its description is safe to log: names of kinds and keys, paths, never IDs, hashes or bodies.
///
/// Competition is no failure: see ``StoreConflict``.
public struct StoreError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of a failure. More may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private enum Kind: String {
      case content, tooLarge, taken, notAsked, misuse, statement
      case busy, conflict, overloaded, full, io, damaged, readOnly, unavailable, schema, closed
    }

    private let kind: Kind

    /// A record holds what the program cannot read or write. Thrown by flows only.
    public static let content = Code(kind: .content)
    /// A value exceeds one of ``StoreLimits``.
    public static let tooLarge = Code(kind: .tooLarge)
    /// A record claims a unique key that another record of the same working set holds.
    public static let taken = Code(kind: .taken)
    /// A flow looked up what its keys did not name: a mistake in the flow.
    public static let notAsked = Code(kind: .notAsked)
    /// A mistake in the program that calls.
    public static let misuse = Code(kind: .misuse)
    /// A statement that the store does not take: a mistake in its implementation, or a damaged table.
    public static let statement = Code(kind: .statement)
    /// Other processes held the store for longer than its time-out.
    public static let busy = Code(kind: .busy)
    /// Other writers changed the same in every attempt; see ``StoreConflict``. Thrown by callers of a store.
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

  /// - Parameters:
  ///   - code: the kind of the failure.
  ///   - message: text for operators, without IDs, hashes and bodies.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// Cause of the failure: it decides whether a message is given up or waits.
  public var fault: Fault {
    switch code {
    case .content, .tooLarge, .taken: .content
    case .notAsked, .misuse, .statement, .conflict: .doubtful
    default: .store
    }
  }

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
  /// - Throws: ``Code/tooLarge`` when a size exceeds its bound.
  static func check(_ size: Int, _ bounds: ClosedRange<Int>, _ what: String) throws(StoreError) {
    guard bounds.contains(size) else {
      throw StoreError(.tooLarge, "\(what) of \(size) is outside \(bounds.lowerBound)...\(bounds.upperBound)")
    }
  }

  /// - Throws: ``Code/content`` for a text with a zero byte, which not every store takes.
  static func check(_ text: String, _ what: String) throws(StoreError) {
    guard !text.utf8.contains(0) else { throw StoreError(.content, "\(what) has a zero byte") }
  }
}
