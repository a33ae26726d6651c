public import CountersignAMQP
public import CountersignMessages

/// Failure of a command or a job.
public struct ClientError: Error, Sendable, Hashable {
  /// Kind of failure.
  public enum Code: Sendable, Hashable {
    /// The coordinator refused the command.
    case refused(APIError)
    /// No answer arrived in time. The command or job may still take effect; it is safe to send it again with the same
    /// ID.
    case noAnswer
    /// No queue of the broker takes it: the topology is missing.
    case unroutable
    /// The broker refused it: the queue is full.
    case brokerBusy
    /// The client was stopped, or the task was canceled.
    case closed
    /// The broker is unreachable or refused the operation.
    case broker(AMQPError)
    /// The message to send, or the answer, breaks the contract.
    case contract(ContractProblem)
    /// Sealing a secret failed.
    case seal(SealError)
  }

  public let code: Code
  /// The failure and its remedy, for people. Safe to log.
  public let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The coordinator's reason, if it refused the command.
  public var apiError: APIError? {
    if case .refused(let error) = code { error } else { nil }
  }

  /// Whether the same message may succeed later. Reuse its ID, so that it has one effect.
  public var isRetriable: Bool {
    switch code {
    case .refused(let error): error.isRetriable
    case .noAnswer, .unroutable, .brokerBusy: true
    case .closed, .contract, .seal: false
    case .broker(let error): error.isRetriable
    }
  }
}

extension ClientError: CustomStringConvertible {
  public var description: String { message }
}

extension ClientError {
  static func refused(_ error: APIError) -> ClientError {
    ClientError(.refused(error), error.description)
  }

  static func contract(_ problem: ContractProblem, in what: String) -> ClientError {
    ClientError(.contract(problem), "\(what): \(problem)")
  }

  static func broker(_ error: AMQPError, _ routingKey: String, _ status: ConnectionStatus?) -> ClientError {
    switch error.code {
    case .timedOut:
      let connection = status.map { "; connection: \($0)" } ?? ""
      return ClientError(.noAnswer, "no answer to \(routingKey) in time\(connection)")
    case .notFound:
      return ClientError(.unroutable, "no queue of the broker accepts \(routingKey): run countersign topology apply")
    case .nacked: return ClientError(.brokerBusy, "the broker accepts no more \(routingKey) for now")
    case .closed, .canceled: return ClientError(.closed, error.message)
    default: return ClientError(.broker(error), error.description)
    }
  }
}
