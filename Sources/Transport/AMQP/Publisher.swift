import CountersignConcurrency

/// Publishes with confirms on a connection of its own, which it keeps up until it is stopped.
///
/// Nothing that was handed in is lost with a connection: what was not confirmed is published again, under the same
/// message ID, on the next one, so a message may arrive twice.
public final class Publisher: Sendable {
  /// How long `stop` waits for confirms unless told otherwise.
  public static let defaultCeiling: Duration = .seconds(10)

  private let options: ConnectionOptions
  private let inbox: Inbox<PublishTicket>
  private let connection: ConnectionActor

  /// - Parameters:
  ///   - maxOutstanding: publications sent and not confirmed, at most; the rest waits.
  ///   - maxOutstandingBytes: the same in bytes of bodies.
  ///   - gathering: how long publishes wait for others; not after `stop`.
  ///   - onEvent: called on the connection's queue; must not block.
  public init(
    endpoint: BrokerEndpoint, options: ConnectionOptions, maxOutstanding: Int = 4096,
    maxOutstandingBytes: Int = 64 << 20, gathering: Gathering = .publishes,
    onEvent: @escaping @Sendable (ConnectionEvent) -> Void
  ) {
    precondition(maxOutstanding > 0 && maxOutstandingBytes > 0, "limits must be positive")
    self.options = options
    let inbox = Inbox<PublishTicket>(wakeCount: gathering.count, isStale: \.isDecided)
    self.inbox = inbox
    connection = ConnectionActor(
      endpoint: endpoint, options: options,
      role: PublisherRole(
        inbox: inbox, options: options, maxOutstanding: maxOutstanding, maxOutstandingBytes: maxOutstandingBytes,
        gathering: gathering),
      onEvent: onEvent)
  }

  /// Connects, and connects again whenever the connection is lost, until `stop`. Cancellation gives up what is unfinished.
  public func run() async { await connection.run() }

  /// Publishes one message and waits until the broker has taken it, returned it or refused it.
  ///
  /// Callers need not be connected: the message waits for the connection.
  ///
  /// - Parameter timeout: how long to wait; for ever when `nil`. The message may arrive all the same.
  /// - Throws: `closed`, `timedOut`, `tooLarge`, or `canceled` when the task is canceled.
  public func publish(_ publication: Publication, timeout: Duration? = nil) async throws(AMQPError) -> PublishOutcome {
    try await publish([publication], timeout: timeout)[0]
  }

  /// Publishes many messages, in order, and waits for all: the cheapest way to publish.
  ///
  /// - Parameters:
  ///   - timeout: how long to wait; for ever when `nil`.
  ///   - isWanted: asked on the connection's queue before a message is sent, also again after the loss of a connection; when it says
  ///     no, nothing more of the batch is sent. Must not block.
  /// - Returns: one outcome for each publication, in the same order.
  /// - Throws: as for one message, and `unwanted`; what was sent before may arrive all the same.
  public func publish(
    _ batch: [Publication], timeout: Duration? = nil, isWanted: (@Sendable () -> Bool)? = nil
  ) async throws(AMQPError) -> [PublishOutcome] {
    guard !batch.isEmpty else { return [] }
    for publication in batch { try MessageLimits.check(publication, maxBodyBytes: options.maxBodyBytes) }
    let ticket = PublishTicket(batch, isWanted: isWanted)
    switch inbox.add(ticket) {
    case .wake: connection.wake()
    case .awake: break
    case .closed: throw AMQPError(.closed, "the publisher was stopped")
    }
    guard let timeout else { return try await ticket.wait() }
    let deadline = Deadlines.shared.add(.now + timeout) { [weak ticket] in
      ticket?.fail(AMQPError(.timedOut, "the broker did not confirm within \(timeout)"))
    }
    defer { Deadlines.shared.remove(deadline) }
    return try await ticket.wait()
  }

  /// Takes no more, waits for what is outstanding, `ceiling` at most, and closes channel and connection. What is
  /// unconfirmed then fails with `closed`.
  public func stop(ceiling: Duration = defaultCeiling) async {
    inbox.close()
    await connection.stop(ceiling: ceiling)
  }

  /// Whether a message handed in now would be sent now.
  public var isReady: Bool { status.phase == .connected }

  /// For readiness checks.
  public var status: ConnectionStatus { connection.status.value }
}
