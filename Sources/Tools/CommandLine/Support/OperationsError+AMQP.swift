internal import CountersignAMQP

extension OperationsError {
  /// What an error of the broker means to somebody at a terminal.
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
