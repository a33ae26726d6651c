public import ServiceRuntime

/// What keeps the mail worker from starting, or its store from being used.
///
/// What becomes of a job is never an error, it is an outcome.
public struct RelayMailError: ExitingError {
  /// The kinds of error. More may come.
  public struct Code: Sendable, Hashable {
    private enum Kind { case invalidTemplate, invalidTable, invalidConfiguration, storeUnavailable }
    private let kind: Kind

    /// A template file breaks a rule.
    public static let invalidTemplate = Code(kind: .invalidTemplate)
    /// The table of replies breaks a rule.
    public static let invalidTable = Code(kind: .invalidTable)
    /// The configuration of the worker breaks a rule.
    public static let invalidConfiguration = Code(kind: .invalidConfiguration)
    /// The suppression list cannot be opened, read or written.
    public static let storeUnavailable = Code(kind: .storeUnavailable)
  }

  public let code: Code
  /// What is wrong and how to mend it, without any secret.
  public let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// Safe to log.
  public var description: String { message }

  public var exitCode: ExitCode { code == .storeUnavailable ? .cannotCreate : .configuration }

  /// Whether it may go away by itself.
  public var isRetriable: Bool { code == .storeUnavailable }
}
