public import ServiceRuntime

/// What keeps the SMS worker from starting: its configuration or its templates are wrong.
///
/// What becomes of a job is never an error, it is an outcome.
public struct SMSDispatchError: ExitingError {
  /// The kinds of error. More may come.
  public struct Code: Sendable, Hashable {
    private enum Kind {
      case unreadable, invalidTemplate, invalidTransliteration, invalidConfiguration, invalidSecret
    }
    private let kind: Kind

    /// A file or directory cannot be read.
    public static let unreadable = Code(kind: .unreadable)
    /// A template file breaks a rule.
    public static let invalidTemplate = Code(kind: .invalidTemplate)
    /// The table of transliterations breaks a rule.
    public static let invalidTransliteration = Code(kind: .invalidTransliteration)
    /// The configuration of the worker breaks a rule.
    public static let invalidConfiguration = Code(kind: .invalidConfiguration)
    /// A secret does not have the form that its use needs.
    public static let invalidSecret = Code(kind: .invalidSecret)
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
  public var exitCode: ExitCode { .configuration }

  /// None of these goes away by itself.
  public var isRetriable: Bool { false }
}
