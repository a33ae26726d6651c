import CountersignConcurrency
import Dispatch

/// Connects, keeps the connection alive and replaces it when it is lost, until it is stopped.
///
///     idle -> connecting -> open -> (lost) -> waiting -> connecting -> ... -> stopped
///
/// Everything runs on one serial queue, in turns. A turn reads arrived data and lets the role work. It may block, so it
/// must not run on the cooperative pool.
actor ConnectionActor {
  typealias Instant = ContinuousClock.Instant

  static let drainTick: Duration = .milliseconds(100)
  /// Number of heartbeat checks in one heartbeat interval, within the bounds of `heartbeatTick`. All other deadlines
  /// are announced by the role.
  static let heartbeatParts = 4
  static let heartbeatTick: ClosedRange<Duration> = .milliseconds(250) ... .seconds(5)
  static let maxFramesPerTurn = 4096

  /// Seconds between attempts to get a queue that another connection uses exclusively: short, for a quick takeover.
  static let lockedRetry: ClosedRange<Double> = 0.5...1.5

  private enum Phase {
    case idle
    case open(AMQPSession)
    /// The number identifies the current retry. Timers of earlier ones are ignored.
    case waiting(retry: UInt64)
    case stopped
  }

  nonisolated let executor: SerialQueueExecutor
  nonisolated let status = StatusBox(ConnectionStatus(phase: .connecting, lastError: nil))
  nonisolated let finished = Latch()
  private let endpoint: BrokerEndpoint
  private let options: ConnectionOptions
  private let role: any ChannelRole
  private let onEvent: @Sendable (ConnectionEvent) -> Void
  private var phase = Phase.idle
  private var rotation: HostRotation
  private var retries: UInt64 = 0
  private var isCallPending = false
  private var isFollowUpPending = false
  private var drainDeadline: Instant?

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(
    endpoint: BrokerEndpoint, options: ConnectionOptions, role: sending any ChannelRole,
    onEvent: @escaping @Sendable (ConnectionEvent) -> Void
  ) {
    executor = SerialQueueExecutor(label: "amqp.\(options.name)")
    self.endpoint = endpoint
    self.options = options
    self.role = role
    self.onEvent = onEvent
    var generator = SystemRandomNumberGenerator()
    rotation = HostRotation(endpoint.hosts, delays: options.reconnectDelay, using: &generator)
  }

  /// Canceling the task abandons unfinished work.
  nonisolated func run() async {
    onQueue { $0.start() }
    await withTaskCancellationHandler {
      _ = await finished.wait()
    } onCancel: {
      abort()
    }
  }

  nonisolated func wake() {
    onQueue { $0.turn(reads: false) }
  }

  nonisolated func stop(ceiling: Duration) async {
    onQueue { $0.beginStop(.now + ceiling) }
    // The queue may be inside a blocking call; its remaining work then ends without this wait.
    let limit = ceiling + options.rpcTimeout + options.rpcTimeout
    if await !finished.wait(atMost: limit) { abort() }
  }

  /// Ends at once, without waiting for the queue, which may be inside a blocking call.
  nonisolated func abort() {
    onQueue { $0.finishStop() }
    finished.open()
  }

  private nonisolated func onQueue(_ body: @escaping @Sendable (isolated ConnectionActor) -> Void) {
    executor.queue.async { self.assumeIsolated(body) }
  }

  // MARK: - Life

  private func start() {
    guard case .idle = phase else { return }
    connect()
  }

  private func connect() {
    do {
      let link = try AMQPLink.open(endpoint.at(rotation.host), options, within: rotation.timeout(options))
      rotation.loggedIn()
      if !link.certificateEnds.isEmpty { onEvent(.certificates(link.certificateEnds, at: rotation.host)) }
      let session = AMQPSession(
        link: link, queue: executor.queue,
        onReadable: { [weak self] in self?.assumeIsolated { $0.turn(reads: true) } },
        onWritable: { [weak self] in self?.assumeIsolated { $0.roomAgain() } },
        onTick: { [weak self] in self?.assumeIsolated { $0.turn(reads: true, ticks: true) } })
      phase = .open(session)
      link.watchdog.enter()
      defer { link.watchdog.leave() }
      role.connected()
      try link.openChannel()
      try role.opened(link, now: .now)
      showOpen(.connected(rotation.host))
    } catch {
      lose(error)
      return
    }
    turn(reads: true)
  }

  private func lose(_ error: AMQPError) {
    if case .open(let session) = phase {
      rotation.ended(after: session.openedAt.duration(to: .now))
      if let closure = session.link.connectionClosure { role.connectionClosed(closure) }
      session.end()
      role.lost(error)
      reportEvents()
    }
    guard !isStopDue else { return finishStop() }
    let host = rotation.host
    // The host of a lock that another connection holds is as good as any other.
    let delay =
      error.code == .resourceLocked
      ? .seconds(Double.random(in: Self.lockedRetry)) : rotation.failed(error, random: .random(in: 0..<1))
    retries += 1
    phase = .waiting(retry: retries)
    let shown = error.code == .resourceLocked ? (error, host) : rotation.shown(error, at: host)
    status.value = ConnectionStatus(phase: .connecting, lastError: shown.0, host: shown.1)
    report(.disconnected(error, at: host, retryIn: delay))
    let retry = retries
    executor.queue.asyncAfter(deadline: .now() + delay.dispatchInterval) {
      self.assumeIsolated { $0.retry(retry) }
    }
  }

  private func retry(_ number: UInt64) {
    guard case .waiting(retry: number) = phase else { return }
    connect()
  }

  private var isStopDue: Bool {
    guard let drainDeadline else { return false }
    return role.isDrained || Instant.now >= drainDeadline
  }

  private func beginStop(_ deadline: Instant) {
    guard drainDeadline == nil else { return }
    drainDeadline = deadline
    switch phase {
    case .idle: finishStop()
    case .open: turn(reads: false)
    case .waiting:
      guard !isStopDue else { return finishStop() }
      executor.queue.asyncAfter(deadline: .now() + Instant.now.duration(to: deadline).dispatchInterval) {
        self.assumeIsolated { $0.giveUpWaiting() }
      }
    case .stopped: break
    }
  }

  private func giveUpWaiting() {
    if case .waiting = phase { finishStop() }
  }

  private func finishStop() {
    if case .stopped = phase { return }
    if case .open(let session) = phase { session.end() }
    phase = .stopped
    role.stopped(AMQPError(.closed, "the connection was stopped"))
    status.value.phase = .stopped
    report(.stopped)
    finished.open()
  }

  // MARK: - Turns

  private func roomAgain() {
    if case .open(let session) = phase { session.stopWaitingForRoom() }
    turn(reads: false)
  }

  private func turn(reads: Bool, ticks: Bool = false) {
    guard case .open(let session) = phase else { return role.workOffline() }
    let link = session.link
    link.watchdog.enter()
    defer { link.watchdog.leave() }
    do {
      var now = Instant.now
      // A turn that precedes an expired timer does the timer's work: a busy connection must not postpone it.
      let ticks = ticks || session.isTickDue(now)
      var hasMore = false
      if reads || ticks || link.hasPending {
        hasMore = try link.read(limit: Self.maxFramesPerTurn) { event throws(AMQPError) in
          try received(event, link, now)
        }
      }
      if ticks { try role.tick(link, now: now) }
      if !link.isBlocked, !isStopDue, role.takesNewChannel(now: now) {
        try renewChannel(link)
        now = .now
      }
      let next = try role.work(link, now: now)
      reportRole()
      role.turnEnded()
      if isStopDue { return try close(session) }
      follow(next, hasMore: hasMore || link.hasPending, session)
      session.tick(at: nextTick(link, now), now: now)
    } catch {
      recover(error, session)
    }
  }

  private func nextTick(_ link: AMQPLink, _ now: Instant) -> Instant {
    let regular = (link.heartbeat / Self.heartbeatParts).clamped(to: Self.heartbeatTick)
    return TickPlan.next(
      after: now, regular: drainDeadline == nil ? regular : Self.drainTick,
      due: role.due(isBlocked: link.isBlocked, now: now))
  }

  private func received(_ event: ChannelEvent, _ link: AMQPLink, _ now: Instant) throws(AMQPError) {
    switch event {
    case .blocked(let reason): showOpen(.blocked(reason: reason), link)
    case .unblocked: showOpen(.unblocked, link)
    default: break
    }
    try role.received(event, link, now: now)
  }

  private func follow(_ next: FollowUp, hasMore: Bool, _ session: AMQPSession) {
    if next.whenWritable { session.waitForRoom() }
    if hasMore, !isCallPending {
      isCallPending = true
      onQueue {
        $0.isCallPending = false
        $0.turn(reads: true)
      }
    }
    if let delay = next.after, !isFollowUpPending {
      isFollowUpPending = true
      executor.queue.asyncAfter(deadline: .now() + delay.dispatchInterval) {
        self.assumeIsolated {
          $0.isFollowUpPending = false
          $0.turn(reads: false)
        }
      }
    }
  }

  private func recover(_ error: AMQPError, _ session: AMQPSession) {
    let link = session.link
    reportRole()
    guard let closure = link.closure, role.mayReopen(after: closure), !isStopDue else { return lose(error) }
    role.lost(error)
    do {
      try link.openChannel()
      try role.opened(link, now: .now)
    } catch {
      return lose(error)
    }
    report(.channelReopened(error))
    onQueue { $0.turn(reads: true) }
  }

  private func renewChannel(_ link: AMQPLink) throws(AMQPError) {
    try link.closeChannel()
    // Everything that came before the close, which would go with the channel.
    _ = try link.read(limit: 0) { event throws(AMQPError) in try received(event, link, .now) }
    role.lost(AMQPError(.nacked, "the broker refused a publication, and the channel is replaced"))
    try link.openChannel()
    try role.opened(link, now: .now)
    report(.channelRenewed)
  }

  private func close(_ session: AMQPSession) throws(AMQPError) {
    // A blocked broker would not answer the close.
    if !session.link.isBlocked { try session.link.close() }
    finishStop()
  }

  // MARK: - Reports

  private func showOpen(_ event: ConnectionEvent, _ link: AMQPLink? = nil) {
    let phase = link?.isBlocked == true ? .blocked : role.openPhase
    status.value = ConnectionStatus(phase: phase, lastError: nil, host: rotation.host)
    report(event)
  }

  private func reportEvents() {
    for event in role.takeEvents() { report(event) }
  }

  private func reportRole() {
    reportEvents()
    guard case .open(let session) = phase, !session.link.isBlocked else { return }
    let phase = role.openPhase
    if status.value.phase != phase {
      status.value = ConnectionStatus(phase: phase, lastError: nil, host: rotation.host)
    }
  }

  private func report(_ event: ConnectionEvent) { onEvent(event) }
}
