import CountersignAMQP
import CountersignClient
import CountersignMessages
import ServiceRuntime

/// `description` is safe to log.
struct CommandLineError: ExitingError, Sendable, Hashable {
  /// Each has its exit code.
  enum Code: String, Sendable {
    /// The other side answered with a refusal.
    case refused
    /// The command line asks for something impossible.
    case usage
    case badInput
    /// A named file does not exist, or cannot be read.
    case noInput
    /// The broker, a queue or a service is not reachable, or did not answer in time.
    case unavailable
    /// A fault of this program, or an answer of unknown form.
    case internalError
    case notPermitted
    /// A setting is missing or wrong.
    case configuration
  }

  let code: Code
  let description: String
  let apiError: APIError?
  /// Whether the broker has taken a command, and no answer has come.
  var isUnanswered = false

  init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
    apiError = nil
  }

  init(_ error: APIError) {
    code = .refused
    description = error.description + (error.retryAfter.map { " (try again in \($0) s)" } ?? "")
    apiError = error
  }

  var exitCode: ExitCode {
    switch code {
    case .refused: .failure
    case .usage: .usage
    case .badInput: .badInput
    case .noInput: .noInput
    case .unavailable: .unavailable
    case .internalError: .internalError
    case .notPermitted: .noPermission
    case .configuration: .configuration
    }
  }
}

extension CommandLineError {
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
      isUnanswered = true
    case .unroutable, .brokerBusy, .closed: self.init(.unavailable, error.message)
    case .broker(let brokerError): self.init(brokerError)
    case .contract:
      self.init(.internalError, "\(error.message): are all programs of the same version?")
    case .seal: self.init(.configuration, error.message)
    }
  }
}
