internal import CountersignClient

extension OperationsError {
  /// What an error of the client means to somebody at a terminal.
  init(_ error: ClientError) {
    switch error.code {
    case .refused(let apiError): self.init(apiError)
    case .noAnswer:
      self.init(
        .unavailable,
        "\(error.message): is its process running? countersign doctor tells; it may still be carried out")
    case .unroutable, .brokerBusy, .closed: self.init(.unavailable, error.message)
    case .broker(let brokerError): self.init(brokerError)
    case .contract:
      self.init(.internalError, "\(error.message): are all programs of the same version?")
    case .seal: self.init(.configuration, error.message)
    }
  }
}
