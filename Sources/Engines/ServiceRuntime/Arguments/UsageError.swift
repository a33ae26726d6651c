/// The arguments are wrong; the process ends with ``ExitCode/usage``.
public struct UsageError: ExitingError, Hashable {
  /// The problem and its fix: `unknown option --jsn (did you mean --json?)`.
  public let message: String

  public init(_ message: String) {
    self.message = message
  }

  public var exitCode: ExitCode { .usage }
  public var description: String { message }
  /// The same arguments fail again.
  public var isRetriable: Bool { false }
}
