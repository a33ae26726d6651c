public import CountersignAMQP
public import CountersignMessages

/// Why a command or a job did not get what it asked for.
public struct ClientError: Error, Sendable, Hashable {
  /// What went wrong.
  public enum Code: Sendable, Hashable {
    /// The coordinator says no, and why.
    case refused(APIError)
    /// No answer came in time. The command or job may be carried out all the same; it is safe to send it again under the
    /// same ID.
    case noAnswer
    /// Nothing on the broker takes it: the topology is not there.
    case unroutable
    /// The broker did not take it: its queue is full.
    case brokerBusy
    /// The client was stopped, or the task was cancelled.
    case closed
    /// The broker is not reached, or says no.
    case broker(AMQPError)
    /// What is to be sent, or what came back, breaks the contract.
    case contract(ContractProblem)
    /// A secret could not be sealed.
    case seal(SealError)
  }

  public let code: Code
  /// What went wrong and what mends it. Safe to log.
  public let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The coordinator's own answer, when it is what went wrong.
  public var apiError: APIError? {
    if case .refused(let error) = code { error } else { nil }
  }

  /// Whether the same may succeed later. Use the same ID again, so that it has one effect.
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

  /// - Parameter status: how the connection is, which is often why there was no answer.
  static func broker(_ error: AMQPError, _ routingKey: String, _ status: ConnectionStatus?) -> ClientError {
    switch error.code {
    case .timedOut:
      let connection = status.map { "; the connection is \($0)" } ?? ""
      return ClientError(.noAnswer, "no answer to \(routingKey) in time\(connection)")
    case .notFound:
      return ClientError(.unroutable, "nothing on the broker takes \(routingKey): run countersign topology apply")
    case .nacked: return ClientError(.brokerBusy, "the broker takes no more \(routingKey) for now")
    case .closed, .canceled: return ClientError(.closed, error.message)
    default: return ClientError(.broker(error), error.description)
    }
  }
}
