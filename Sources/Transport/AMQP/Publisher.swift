import CountersignConcurrency

/// Publishes with confirms on a connection of its own, which it keeps up until it is stopped.
///
/// Unconfirmed messages are published again on the next connection under the same ID, so a message may arrive twice.
/// After refusals the channel is replaced now and then, because a queue may refuse on one channel alone
/// (``ConnectionEvent/channelRenewed``).
public final class Publisher: Sendable {
  /// Default time `stop` waits for confirms.
  public static let defaultCeiling: Duration = .seconds(10)

  private let options: ConnectionOptions
  private let inbox: Inbox<PublishTicket>
  private let connection: ConnectionActor

  /// - Parameters:
  ///   - maxOutstanding: maximum number of unconfirmed publications; others wait.
  ///   - maxOutstandingBytes: maximum size of their bodies together.
  ///   - gathering: wait of publishes for others; not applied after `stop`.
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

  /// Connects, and reconnects whenever the connection is lost, until `stop`. Cancellation abandons unfinished
  /// publishes.
  public func run() async { await connection.run() }

  /// Publishes one message and waits until the broker has confirmed, returned or refused it.
  ///
  /// Needs no open connection: the message waits for one.
  ///
  /// - Parameter timeout: maximum wait; unlimited if `nil`. The message may arrive even after it.
  /// - Throws: `closed`, `timedOut`, `tooLarge`, or `canceled` with the task.
  public func publish(_ publication: Publication, timeout: Duration? = nil) async throws(AMQPError) -> PublishOutcome {
    try await publish([publication], timeout: timeout)[0]
  }

  /// Publishes many messages in order and waits for all of them: the cheapest way to publish.
  ///
  /// - Parameters:
  ///   - timeout: maximum wait; unlimited if `nil`.
  ///   - isWanted: called on the connection's queue before each message is sent, also when it is sent again after a
  ///     loss; if it returns `false`, the rest of the batch is not sent. Must not block.
  /// - Returns: one outcome for each publication, in the same order.
  /// - Throws: as for one message, and `unwanted`; messages sent before may still arrive.
  public func publish(
    _ batch: [Publication], timeout: Duration? = nil, isWanted: (@Sendable () -> Bool)? = nil
  ) async throws(AMQPError) -> [PublishOutcome] {
    guard !batch.isEmpty else { return [] }
    for publication in batch { try WireLimits.check(publication, maxBodyBytes: options.maxBodyBytes) }
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

  /// Refuses further publishes, waits at most `ceiling` for confirms, and closes channel and connection. Publishes
  /// still unconfirmed fail with `closed`.
  public func stop(ceiling: Duration = defaultCeiling) async {
    inbox.close()
    await connection.stop(ceiling: ceiling)
  }

  /// Whether a message would be sent without waiting for a connection.
  public var isReady: Bool { status.phase == .connected }

  /// For readiness checks.
  public var status: ConnectionStatus { connection.status.value }
}
