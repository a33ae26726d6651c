import CountersignAMQP
import CountersignMessages
import CountersignTelemetry

/// Tests replace it.
protocol CommandTransport: Sendable {
  /// Whether a command would be sent without waiting for a connection.
  var isReady: Bool { get }
  func request(
    _ message: Message, exchange: String, routingKey: String, timeout: Duration
  ) async throws(AMQPError) -> Message
}

extension RequestClient: CommandTransport {}

struct Broker: Sendable {
  static let usualTimeout: Duration = .seconds(15)
  /// Time for the answer to a start, which waits for the assessment of a reCAPTCHA token, and to a sign-in, above the
  /// deadline that `accounts` gives a check: a code is not used up without a user. Below the time-outs of SDKs (30 s
  /// and 60 s).
  static let startTimeout: Duration = .seconds(25)
  /// Time that a call waits for a lost connection: a reconnection at once takes less.
  static let reconnectTime: Duration = .seconds(1)
  private static let reconnectPause: Duration = .milliseconds(50)

  let transport: any CommandTransport
  let author: Author
  let clocks: Clocks
  let metrics: GatewayMetrics
  let logger: Logger
  private let gate = LogGate()

  func ask<C: Command>(
    _ command: C, messageID: String, timeout: Duration = usualTimeout
  ) async throws(ProtocolError) -> Result<C.Reply, APIError> {
    let body = try body(of: command)
    guard await isConnected() else {
      metrics.countCommand(C.routingKey, "disconnected")
      throw .unavailable
    }
    let envelope = Envelope(
      type: C.type, messageID: messageID, correlationID: messageID, timestamp: clocks.wall.now(),
      appID: author.appID, userID: author.userID, trace: .root())
    let reply = try await send(envelope.message(body: body), C.routingKey, timeout)
    return try read(reply, of: C.self)
  }

  private func send(
    _ message: Message, _ routingKey: String, _ timeout: Duration
  ) async throws(ProtocolError) -> Message {
    do {
      return try await transport.request(
        message, exchange: Topology.Exchanges.commands, routingKey: routingKey, timeout: timeout)
    } catch {
      throw failure(error, routingKey)
    }
  }

  private func body(of command: some Command) throws(ProtocolError) -> [UInt8] {
    do {
      return try command.json()
    } catch {
      throw error.code == .bodyTooLarge ? .bodyTooLarge : .internalError
    }
  }

  private func isConnected() async -> Bool {
    let end = clocks.monotonic.now() + Self.reconnectTime
    while !transport.isReady {
      guard clocks.monotonic.now() < end, (try? await Task.sleep(for: Self.reconnectPause)) != nil else { return false }
    }
    return true
  }

  private func read<C: Command>(_ reply: Message, of type: C.Type) throws(ProtocolError) -> Result<C.Reply, APIError> {
    do throws(ContractProblem) {
      if reply.type == ErrorReply.type.text {
        let error = try ErrorReply(json: reply.body).error
        metrics.countCommand(C.routingKey, "refused")
        return .failure(error)
      }
      guard reply.type == C.Reply.type.text else {
        throw ContractProblem(.unknownType, field: "type", "must be \(C.Reply.type)")
      }
      let body = try C.Reply(json: reply.body)
      metrics.countCommand(C.routingKey, "answered")
      return .success(body)
    } catch {
      metrics.countCommand(C.routingKey, "unreadable")
      logger.error(
        "a reply breaks the contract",
        [
          .routingKey: C.routingKey, .error: error.description,
          .hint: "run the same version of the gateway and of the service behind it",
        ])
      throw .internalError
    }
  }

  private func failure(_ error: AMQPError, _ routingKey: String) -> ProtocolError {
    switch error.code {
    case .tooLarge: return .bodyTooLarge
    case .timedOut: metrics.countCommand(routingKey, "timed_out")
    case .notFound: metrics.countCommand(routingKey, "unroutable")
    case .nacked: metrics.countCommand(routingKey, "queue_full")
    default: metrics.countCommand(routingKey, "failed")
    }
    let hint = error.code == .notFound ? "run countersign topology apply" : "see whether the service behind it runs"
    if let withheld = gate.admits(at: clocks.monotonic.now()) {
      logger.warning(
        "a command was not answered",
        [.routingKey: routingKey, .error: error.description, .hint: hint, "withheld": withheld])
    }
    return .unavailable
  }
}
