import CountersignConcurrency
import Dispatch

/// A transceiver session with an SMPP server, reconnected until it is stopped.
///
/// ```
///  idle ──run──► connecting ──► open ──► (lost) ──► waiting ──► connecting … ──► stopped
/// ```
///
/// Everything runs on one serial queue, in turns: bytes arrive, a caller submits, the socket has room, or a timer
/// fires; the state machine returns the actions. Only connecting blocks; it has a queue of its own.
public actor SMPPSession {
  typealias Instant = ContinuousClock.Instant

  static let tick: Duration = .milliseconds(50)
  static let retryDelays: ClosedRange<Duration> = .milliseconds(500) ... .seconds(30)
  static let minRetryDelay: Duration = .milliseconds(50)
  /// Servers lock accounts that try too often.
  static let delayAfterRefusal: Duration = .seconds(5)
  /// Lifetime from which a lost session counts as a success: the retry delays start over.
  static let stableAfter: Duration = .seconds(10)
  static let maxReadsPerTurn = 64

  private enum Phase {
    case idle
    case connecting
    case open(SMPPConnection, boundAt: Instant?)
    /// Generation that invalidates retries scheduled earlier.
    case waiting(retry: UInt64)
    case stopped
  }

  private struct Delivery: Sendable {
    let receipt: SMPPReceipt
    let sequence: UInt32
    let connection: UInt64
  }

  nonisolated private let executor: SerialQueueExecutor
  nonisolated private let connecting: DispatchQueue
  nonisolated private let statusBox = StatusBox(SMPPStatus.stopped)
  nonisolated private let deliveries: AsyncStream<Delivery>
  nonisolated private let delivery: AsyncStream<Delivery>.Continuation
  nonisolated private let onReceipt: @Sendable (SMPPReceipt) async -> Bool
  private let onEvent: @Sendable (SMPPEvent) -> Void
  private let configuration: SMPPConfiguration
  private var timer: (any DispatchSourceTimer)?
  private var state: SessionState
  private var phase = Phase.idle
  private var backoff = Backoff(retryDelays, minDelay: minRetryDelay, stableAfter: stableAfter)
  private var retries: UInt64 = 0
  private var connections: UInt64 = 0
  private var lastTicket: UInt64 = 0
  private var callers: [UInt64: CheckedContinuation<Result<String?, SMPPError>, Never>] = [:]
  private var isTurnPending = false
  private var isStopping = false

  public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// - Parameters:
  ///   - configuration: address of the server and settings of the session.
  ///   - onReceipt: takes a delivery report over. It is acknowledged to the server only if this returns true; otherwise
  ///     the server reports again later. A bounded number of calls runs at once.
  ///   - onEvent: called on the session's queue for each change; must be short.
  public init(
    _ configuration: SMPPConfiguration, onReceipt: @escaping @Sendable (SMPPReceipt) async -> Bool,
    onEvent: @escaping @Sendable (SMPPEvent) -> Void = { _ in }
  ) {
    self.configuration = configuration
    self.onReceipt = onReceipt
    self.onEvent = onEvent
    executor = SerialQueueExecutor(label: "smpp.\(configuration.host)")
    connecting = DispatchQueue(label: "smpp.\(configuration.host).connecting")
    state = SessionState(configuration.bind, notation: configuration.messageIDs, limits: configuration.limits)
    (deliveries, delivery) = AsyncStream.makeStream()
  }

  /// State of the session.
  public nonisolated var status: SMPPStatus { statusBox.value }

  /// Connects and stays connected until `stop`, or until the task is canceled, which abandons unfinished submissions.
  ///
  /// Returns when the session is stopped and the last delivery report was handled. Call it once.
  public nonisolated func run() async {
    onQueue { $0.start() }
    await withTaskCancellationHandler {
      // The state machine bounds how many are handed out at once.
      await withDiscardingTaskGroup { group in
        for await delivery in deliveries { group.addTask { await self.handle(delivery) } }
      }
    } onCancel: {
      onQueue { $0.giveUp() }
    }
  }

  /// Ends the session: takes no more submissions, waits for responses for at most `ceiling`, and unbinds.
  public nonisolated func stop(ceiling: Duration) {
    onQueue { $0.beginStop(ceiling) }
  }

  /// Submits an SMS once, and suspends until the server responds or `timeout` passes.
  ///
  /// - Parameters:
  ///   - isPatient: whether it waits until then even if the server throttles.
  ///   - origin: the caller's reference, returned with the delivery report.
  /// - Returns: the server's ID of the SMS, if it gave one.
  /// - Throws: the reason it was not taken, or that this is unknown: `mayHaveBeenTaken`.
  public nonisolated func submit(
    _ message: ShortMessage, timeout: Duration, isPatient: Bool = false, origin: MessageOrigin? = nil
  ) async throws(SMPPError) -> String? {
    switch status {
    // The queue may be busy connecting: callers need not wait for that to learn that there is no session.
    case .waiting(let error): throw error.inMidWindow(false)
    case .stopped: throw .closed
    case .connecting, .bound: break
    }
    return try await perform(message, deadline: .now + timeout, isPatient, origin).get()
  }

  private nonisolated func onQueue(_ body: @escaping @Sendable (isolated SMPPSession) -> Void) {
    executor.queue.async { self.assumeIsolated(body) }
  }

  // MARK: - Callers

  private func perform(
    _ message: ShortMessage, deadline: Instant, _ isPatient: Bool, _ origin: MessageOrigin?
  ) async -> Result<String?, SMPPError> {
    lastTicket += 1
    let ticket = lastTicket
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        callers[ticket] = continuation
        let submission = Submission(
          ticket: ticket, message: message, deadline: deadline, isPatient: isPatient, origin: origin)
        act(state.submit(submission, now: .now))
        flush()
      }
    } onCancel: {
      onQueue { $0.cancel(ticket) }
    }
  }

  private func cancel(_ ticket: UInt64) {
    act(state.cancel(ticket, now: .now))
    flush()
  }

  private nonisolated func handle(_ delivery: Delivery) async {
    let isTaken = await onReceipt(delivery.receipt)
    await answer(delivery, isTaken)
  }

  private func answer(_ delivery: Delivery, _ isTaken: Bool) {
    // Sequence numbers of a lost connection mean nothing on the next one; the server reports again there.
    guard delivery.connection == connections else { return }
    act(state.receiptHandled(delivery.sequence, isTaken: isTaken))
    flush()
  }

  // MARK: - Life

  private func start() {
    guard case .idle = phase, !isStopping else { return }
    let timer = DispatchSource.makeTimerSource(queue: executor.queue)
    timer.schedule(deadline: .now() + Self.tick.dispatchInterval, repeating: Self.tick.dispatchInterval)
    timer.setEventHandler { [weak self] in self?.assumeIsolated { $0.tick() } }
    timer.activate()
    self.timer = timer
    connect()
  }

  private func connect() {
    phase = .connecting
    statusBox.value = .connecting
    state.connecting()
    connections += 1
    connecting.async { [configuration] in
      let result = Result { () throws(SMPPError) in HandedOver(try SMPPLink.open(configuration)) }
      self.onQueue { $0.opened(result) }
    }
  }

  private func opened(_ result: Result<HandedOver, SMPPError>) {
    guard case .connecting = phase else {
      // Stopped meanwhile.
      if case .success(let link) = result { link.value.close() }
      return
    }
    switch result {
    case .failure(let error): lose(error)
    case .success(let link):
      let connection = SMPPConnection(
        link.value, queue: executor.queue,
        onReadable: { [weak self] in self?.assumeIsolated { $0.turn() } },
        onWritable: { [weak self] in self?.assumeIsolated { $0.roomAgain() } })
      phase = .open(connection, boundAt: nil)
      act(state.connected(now: .now))
      flush()
    }
  }

  /// Further failures of it are not reported.
  private func drop(_ error: SMPPError) {
    if case .open = phase { lose(error) }
  }

  private func lose(_ error: SMPPError) {
    var unsent: Set<UInt64> = []
    if case .open(let connection, let boundAt) = phase {
      if let boundAt { backoff.recordEnd(after: boundAt.duration(to: .now)) }
      unsent = connection.unsent
      connection.end()
    }
    if isStopping { return finish(error, unsent) }
    let delay = backoff.next(after: Self.baseDelay(after: error), random: .random(in: 0..<1))
    retries += 1
    phase = .waiting(retry: retries)
    // Before callers are resumed, so that none submits to a lost session.
    statusBox.value = .waiting(error)
    act(state.lost(error, unsent: unsent))
    onEvent(.disconnected(error, retryIn: delay))
    let retry = retries
    executor.queue.asyncAfter(deadline: .now() + delay.dispatchInterval) {
      self.assumeIsolated { $0.retry(retry) }
    }
  }

  static func baseDelay(after error: SMPPError) -> Duration {
    if case .bindRefused = error.kind { delayAfterRefusal } else { .zero }
  }

  private func retry(_ number: UInt64) {
    guard case .waiting(retry: number) = phase else { return }
    connect()
  }

  private func beginStop(_ ceiling: Duration) {
    guard !isStopping else { return }
    isStopping = true
    guard case .open = phase else { return finish(.closed, []) }
    act(state.stop(deadline: .now + ceiling, now: .now))
    flush()
  }

  private func giveUp() {
    isStopping = true
    if case .open = phase { drop(.closed) } else { finish(.closed, []) }
  }

  private func finish(_ error: SMPPError, _ unsent: Set<UInt64>) {
    if case .stopped = phase { return }
    phase = .stopped
    isStopping = true
    timer?.cancel()
    statusBox.value = .stopped
    act(state.lost(error, unsent: unsent))
    delivery.finish()
    onEvent(.stopped)
  }

  // MARK: - Turns

  private func roomAgain() {
    guard case .open(let connection, _) = phase else { return }
    connection.stopWaitingForRoom()
    flush()
  }

  private func tick() {
    act(state.tick(now: .now))
    flush()
  }

  /// Reads and handles everything received, before an end of the connection is acted upon.
  private func turn() {
    guard case .open(let connection, _) = phase else { return }
    do {
      for _ in 0..<Self.maxReadsPerTurn {
        guard case .open = phase, try connection.read() else { return flush() }
        try takeFrames(connection)
      }
      flush()
      turnAgain()
    } catch {
      drop(error)
    }
  }

  /// Bytes that TLS has decrypted already do not make the socket readable.
  private func turnAgain() {
    guard !isTurnPending else { return }
    isTurnPending = true
    onQueue {
      $0.isTurnPending = false
      $0.turn()
    }
  }

  private func takeFrames(_ connection: SMPPConnection) throws(SMPPError) {
    do {
      while case .open = phase, let frame = try connection.nextFrame() {
        act(state.received(IncomingPDU(frame), sequence: frame.sequence, now: .now))
      }
    } catch {
      if error.sequence > 0 {
        act([.send(.genericNack(.invalidCommandLength), sequence: error.sequence, ticket: nil)])
        try connection.flush()
      }
      throw SMPPError(.protocolViolation, "the server sent a PDU of a length that cannot be")
    }
  }

  private func flush() {
    guard case .open(let connection, _) = phase else { return }
    do {
      try connection.flush()
    } catch {
      drop(error)
    }
  }

  private func act(_ actions: [SessionAction]) {
    for action in actions {
      switch action {
      case .send(let pdu, let sequence, let ticket): send(pdu, sequence, ticket)
      case .finish(let ticket, let result): callers.removeValue(forKey: ticket)?.resume(returning: result)
      case .deliver(let receipt, let sequence):
        delivery.yield(Delivery(receipt: receipt, sequence: sequence, connection: connections))
      case .bound:
        if case .open(let connection, _) = phase { phase = .open(connection, boundAt: .now) }
        statusBox.value = .bound
        onEvent(.bound)
      case .paused(let pause): onEvent(.paused(pause))
      case .end(let error):
        flush()
        drop(error)
      }
    }
  }

  private func send(_ pdu: OutgoingPDU, _ sequence: UInt32, _ ticket: UInt64?) {
    guard case .open(let connection, _) = phase else { return }
    do {
      connection.queue(try PDUWriter.write(pdu, sequence: sequence), ticket: ticket)
    } catch {
      return if let ticket { act(state.unwritable(ticket, error, now: .now)) } else { drop(error) }
    }
    // Its own requests would keep the session alive, and the responses would pile up here.
    if connection.isOverfull {
      drop(SMPPError(.connectionLost, "the server does not read what it is sent"))
    }
  }
}
