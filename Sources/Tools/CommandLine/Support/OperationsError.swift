public import CountersignMessages
public import ServiceRuntime

/// What kept a command of the operator from being carried out. `description` is safe to log.
public struct OperationsError: ExitingError, Sendable, Hashable {
  /// The kind of failure; each has its exit code.
  public struct Code: Sendable, Hashable {
    let name: String
    let exitCode: ExitCode

    /// The other side answered, and said no.
    public static let refused = Code(name: "refused", exitCode: .failure)
    /// The command line asks for what cannot be done.
    public static let usage = Code(name: "usage", exitCode: .usage)
    /// The input is not what it has to be.
    public static let badInput = Code(name: "badInput", exitCode: .badInput)
    /// A file that was named is not there, or cannot be read.
    public static let noInput = Code(name: "noInput", exitCode: .noInput)
    /// The broker, a queue or a service is not reachable, or did not answer in time.
    public static let unavailable = Code(name: "unavailable", exitCode: .unavailable)
    /// A fault of this program, or an answer that nobody understands.
    public static let internalError = Code(name: "internalError", exitCode: .internalError)
    /// The user may not do it.
    public static let notPermitted = Code(name: "notPermitted", exitCode: .noPermission)
    /// A setting is missing or wrong.
    public static let configuration = Code(name: "configuration", exitCode: .configuration)
  }

  public let code: Code
  /// What happened, and how to mend it.
  public let description: String
  /// What the coordinator answered, when it is that which said no.
  public let apiError: APIError?

  public init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
    apiError = nil
  }

  /// The coordinator's refusal of a command.
  public init(_ error: APIError) {
    code = .refused
    description = error.description + (error.retryAfter.map { " (try again in \($0) s)" } ?? "")
    apiError = error
  }

  public var exitCode: ExitCode { code.exitCode }

  /// Whether the same command may succeed later.
  public var isRetriable: Bool { code == .unavailable }
}
