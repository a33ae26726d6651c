public import ServiceRuntime

/// What keeps the push-worker from starting.
///
/// What becomes of a job is never an error, it is an outcome.
public struct PushVerificationError: ExitingError {
  /// The kinds of error. More may come.
  public struct Code: Sendable, Hashable {
    private enum Kind {
      case invalidConfiguration, memoryUnavailable
    }
    private let kind: Kind

    /// The configuration of the worker breaks a rule.
    public static let invalidConfiguration = Code(kind: .invalidConfiguration)
    /// The file of the memory cannot be opened or made.
    public static let memoryUnavailable = Code(kind: .memoryUnavailable)
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

  /// All of these are mended by an operator.
  public var exitCode: ExitCode { code == .memoryUnavailable ? .cannotCreate : .configuration }

  /// None of these goes away by itself.
  public var isRetriable: Bool { false }
}
