public import ServiceRuntime

/// What keeps a worker from starting: its data files or its ledger.
///
/// What becomes of a job is never an error, it is an outcome.
public struct WorkerSetupError: ExitingError {
  /// The kinds of error. More may come.
  public struct Code: Sendable, Hashable {
    private enum Kind { case unreadable, invalidProviderTable, ledgerUnavailable }
    private let kind: Kind

    /// A file cannot be read.
    public static let unreadable = Code(kind: .unreadable)
    /// A provider's error table breaks a rule.
    public static let invalidProviderTable = Code(kind: .invalidProviderTable)
    /// The ledger's file cannot be opened or made.
    public static let ledgerUnavailable = Code(kind: .ledgerUnavailable)
  }

  public let code: Code
  /// What is wrong and how to mend it, without any secret.
  public let message: String

  /// - Parameters:
  ///   - code: The kind of error.
  ///   - message: What is wrong and how to mend it, without any secret.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// Safe to log.
  public var description: String { message }

  /// All of these are mended by an operator.
  public var exitCode: ExitCode { code == .ledgerUnavailable ? .cannotCreate : .configuration }

  /// None of these goes away by itself.
  public var isRetriable: Bool { false }
}
