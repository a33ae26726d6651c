public import ServiceRuntime

/// What keeps the revocation worker from starting: its configuration is wrong.
///
/// What becomes of a job is never an error, it is an outcome.
public struct TokenRevocationError: ExitingError {
  /// What is wrong and how to mend it, without any secret.
  public let message: String

  init(_ message: String) {
    self.message = message
  }

  /// Safe to log.
  public var description: String { message }

  /// An operator mends it.
  public var exitCode: ExitCode { .configuration }

  /// It does not go away by itself.
  public var isRetriable: Bool { false }
}
