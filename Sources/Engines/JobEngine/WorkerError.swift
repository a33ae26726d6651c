public import ServiceRuntime

/// A worker that cannot start, or a store that cannot be used: the operator has to act.
///
/// The fate of a job is never an error, it is an outcome.
public struct WorkerError: ExitingError {
  /// Kinds of error. More may come.
  public struct Code: Sendable, Hashable {
    private enum Kind {
      case unreadable, invalidTable, invalidTemplate, invalidConfiguration, invalidSecret
      case ledgerUnavailable, storeUnavailable, tablesMissing
    }
    private let kind: Kind

    /// A file or directory cannot be read.
    public static let unreadable = Code(kind: .unreadable)
    /// A table, such as that of a provider's errors, breaks a rule.
    public static let invalidTable = Code(kind: .invalidTable)
    /// A template file breaks a rule.
    public static let invalidTemplate = Code(kind: .invalidTemplate)
    /// The configuration breaks a rule.
    public static let invalidConfiguration = Code(kind: .invalidConfiguration)
    /// A secret does not have the form its use requires.
    public static let invalidSecret = Code(kind: .invalidSecret)
    /// The ledger cannot be opened or created.
    public static let ledgerUnavailable = Code(kind: .ledgerUnavailable)
    /// Another store of the worker cannot be opened, read or written.
    public static let storeUnavailable = Code(kind: .storeUnavailable)
    /// Tables of a database are missing, or of another version of the program.
    public static let tablesMissing = Code(kind: .tablesMissing)
  }

  public let code: Code
  /// The problem and its fix, without any secret.
  public let message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// Safe to log.
  public var description: String { message }

  public var exitCode: ExitCode {
    code == .ledgerUnavailable || code == .storeUnavailable ? .cannotCreate : .configuration
  }

  /// Whether it may go away by itself, as a store's file that is locked for a while.
  public var isRetriable: Bool { code == .storeUnavailable }
}
