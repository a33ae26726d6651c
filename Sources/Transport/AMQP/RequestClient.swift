import CountersignConcurrency
import CountersignEncoding

/// Sends requests and waits for their replies, on a connection of its own, which it keeps up until it is stopped.
///
/// A request whose reply was lost with a connection, or with a channel that is replaced after a refusal, is sent again,
/// under the same message ID, for as long as its caller waits.
public final class RequestClient: Sendable {
  /// Default maximum number of unanswered requests. Others wait.
  public static let defaultMaxOutstanding = 4096

  private let options: ConnectionOptions
  private let inbox: Inbox<RequestTicket>
  private let connection: ConnectionActor

  /// - Parameters:
  ///   - maxOutstanding: maximum number of unanswered requests.
  ///   - exchange: exchange that has to exist; while it does not, the client is not ready, and says so by an event.
  ///   - onEvent: called on the connection's queue; must not block.
  public init(
    endpoint: BrokerEndpoint, options: ConnectionOptions, maxOutstanding: Int = defaultMaxOutstanding,
    exchange: String? = nil, onEvent: @escaping @Sendable (ConnectionEvent) -> Void
  ) {
    precondition(maxOutstanding > 0, "maxOutstanding must be positive")
    self.options = options
    let inbox = Inbox<RequestTicket>(isStale: \.isDecided)
    self.inbox = inbox
    connection = ConnectionActor(
      endpoint: endpoint, options: options,
      role: RequestRole(inbox: inbox, options: options, maxOutstanding: maxOutstanding, exchange: exchange),
      onEvent: onEvent)
  }

  /// Connects, and reconnects whenever the connection is lost, until `stop`. Cancellation ends it at once.
  public func run() async { await connection.run() }

  /// Sends a request and waits for the reply.
  ///
  /// - Parameters:
  ///   - message: request; its `replyTo` is set here, and its `correlationID` if it has none. It needs a `messageID`,
  ///     by which the receiver recognizes a repeated request.
  ///   - timeout: maximum wait, including the wait for a connection. The request may be carried out even after it.
  /// - Throws: `notFound` if no queue takes the request, `nacked` if a queue refuses it that has not taken it before,
  ///   `timedOut`, `closed`,
  ///   `tooLarge`, `preconditionFailed` if the correlation ID is in use, `canceled` with the task.
  public func request(
    _ message: Message, exchange: String, routingKey: String, timeout: Duration
  ) async throws(AMQPError) -> Message {
    var message = message
    let correlationID = message.correlationID ?? Self.makeID()
    message.correlationID = correlationID
    message.replyTo = RequestRole.replyQueue
    let publication = Publication(message: message, exchange: exchange, routingKey: routingKey)
    try WireLimits.check(publication, maxBodyBytes: options.maxBodyBytes)
    let ticket = RequestTicket(publication, correlationID: correlationID)
    switch inbox.add(ticket) {
    case .wake: connection.wake()
    case .awake: break
    case .closed: throw AMQPError(.closed, "the request client was stopped")
    }
    let deadline = Deadlines.shared.add(.now + timeout) { [weak ticket] in
      ticket?.fail(AMQPError(.timedOut, "no reply within \(timeout)"))
    }
    defer { Deadlines.shared.remove(deadline) }
    return try await ticket.wait()
  }

  /// Refuses further requests, waits at most `ceiling` for replies, and closes channel and connection. Requests still
  /// unanswered fail with `closed`.
  public func stop(ceiling: Duration = .zero) async {
    inbox.close()
    await connection.stop(ceiling: ceiling)
  }

  /// Whether a request would be sent without waiting for a connection.
  public var isReady: Bool { status.phase == .connected }

  /// For readiness checks.
  public var status: ConnectionStatus { connection.status.value }

  private static func makeID() -> String {
    Hexadecimal.text(UInt64.random(in: 0...UInt64.max), width: 16)
      + Hexadecimal.text(UInt64.random(in: 0...UInt64.max), width: 16)
  }
}
