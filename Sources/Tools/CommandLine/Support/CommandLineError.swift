import CountersignAMQP
import CountersignClient
public import CountersignMessages
public import ServiceRuntime

/// Failure of an operator's command. `description` is safe to log.
public struct CommandLineError: ExitingError, Sendable, Hashable {
  /// Kind of failure. Each has its exit code.
  public struct Code: Sendable, Hashable {
    let name: String
    let exitCode: ExitCode

    /// The other side answered with a refusal.
    public static let refused = Code(name: "refused", exitCode: .failure)
    /// The command line asks for something impossible.
    public static let usage = Code(name: "usage", exitCode: .usage)
    /// The input is not valid.
    public static let badInput = Code(name: "badInput", exitCode: .badInput)
    /// A named file does not exist, or cannot be read.
    public static let noInput = Code(name: "noInput", exitCode: .noInput)
    /// The broker, a queue or a service is not reachable, or did not answer in time.
    public static let unavailable = Code(name: "unavailable", exitCode: .unavailable)
    /// A fault of this program, or an answer of unknown form.
    public static let internalError = Code(name: "internalError", exitCode: .internalError)
    /// The user may not do it.
    public static let notPermitted = Code(name: "notPermitted", exitCode: .noPermission)
    /// A setting is missing or wrong.
    public static let configuration = Code(name: "configuration", exitCode: .configuration)
  }

  public let code: Code
  /// The problem, and a way to fix it.
  public let description: String
  /// Answer of the coordinator, if it refused.
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

extension CommandLineError {
  /// An error of the broker, for an operator at a terminal.
  init(_ error: AMQPError) {
    let code: Code =
      switch error.code {
      case .invalidURL: .configuration
      case .authenticationRefused, .accessRefused: .notPermitted
      case .notFound, .preconditionFailed, .resourceLocked, .tooLarge: .refused
      default: .unavailable
      }
    self.init(code, error.description)
  }
}

extension CommandLineError {
  init(_ error: ClientError) {
    switch error.code {
    case .refused(let apiError): self.init(apiError)
    case .noAnswer:
      self.init(
        .unavailable,
        "\(error.message): is its process running? (countersign doctor) The command may still be carried out")
    case .unroutable, .brokerBusy, .closed: self.init(.unavailable, error.message)
    case .broker(let brokerError): self.init(brokerError)
    case .contract:
      self.init(.internalError, "\(error.message): are all programs of the same version?")
    case .seal: self.init(.configuration, error.message)
    }
  }
}
