import CountersignConcurrency
import CountersignEncoding

/// Sends requests and waits for their replies, on a connection of its own, which it keeps up until it is stopped.
///
/// A request whose reply was lost with a connection is sent again on the next one, under the same message ID, as long
/// as its caller waits.
public final class RequestClient: Sendable {
  /// Requests sent and not answered, at most, unless told otherwise; the rest waits.
  public static let defaultMaxOutstanding = 4096

  private let options: ConnectionOptions
  private let inbox: Inbox<RequestTicket>
  private let connection: ConnectionActor

  /// - Parameters:
  ///   - maxOutstanding: requests sent and not answered, at most.
  ///   - onEvent: called on the connection's queue; must not block.
  public init(
    endpoint: BrokerEndpoint, options: ConnectionOptions, maxOutstanding: Int = defaultMaxOutstanding,
    onEvent: @escaping @Sendable (ConnectionEvent) -> Void
  ) {
    precondition(maxOutstanding > 0, "maxOutstanding must be positive")
    self.options = options
    let inbox = Inbox<RequestTicket>(isStale: \.isDecided)
    self.inbox = inbox
    connection = ConnectionActor(
      endpoint: endpoint, options: options,
      role: RequestRole(inbox: inbox, options: options, maxOutstanding: maxOutstanding), onEvent: onEvent)
  }

  /// Connects, and connects again whenever the connection is lost, until `stop`. Cancellation ends it at once.
  public func run() async { await connection.run() }

  /// Sends a request and waits for the reply.
  ///
  /// - Parameters:
  ///   - message: its `replyTo` is set here, its `correlationID` as well when it has none. Give it a `messageID`: the
  ///     receiver tells a request that is sent again by it.
  ///   - timeout: how long to wait, for the connection included. The request may be carried out all the same.
  /// - Throws: `notFound` when no queue takes the request, `nacked` when one refused it, `timedOut`, `closed`,
  ///   `tooLarge`, `preconditionFailed` when the correlation ID is in use, `canceled` with the task.
  public func request(
    _ message: Message, exchange: String, routingKey: String, timeout: Duration
  ) async throws(AMQPError) -> Message {
    var message = message
    let correlationID = message.correlationID ?? Self.makeID()
    message.correlationID = correlationID
    message.replyTo = RequestRole.replyQueue
    let publication = Publication(message: message, exchange: exchange, routingKey: routingKey)
    try MessageLimits.check(publication, maxBodyBytes: options.maxBodyBytes)
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

  /// Takes no more, waits for replies, `ceiling` at most, and closes channel and connection. Who still waits then gets
  /// `closed`.
  public func stop(ceiling: Duration = .zero) async {
    inbox.close()
    await connection.stop(ceiling: ceiling)
  }

  /// Whether a request would be sent now.
  public var isReady: Bool { status.phase == .connected }

  /// For readiness checks.
  public var status: ConnectionStatus { connection.status.value }

  /// 128 random bits in hexadecimal digits.
  private static func makeID() -> String {
    Hexadecimal.text(UInt64.random(in: 0...UInt64.max), width: 16)
      + Hexadecimal.text(UInt64.random(in: 0...UInt64.max), width: 16)
  }
}
