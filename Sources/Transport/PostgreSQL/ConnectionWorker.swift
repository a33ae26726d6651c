import CountersignConcurrency
import CountersignTelemetry
import Dispatch

/// One connection on a serial queue of its own, which takes its bodies from a queue that it may share with others.
actor ConnectionWorker {
  private let executor: SerialQueueExecutor
  private let number: Int
  private let work: WorkQueue<SessionBody>
  private let status: StatusBox<PostgreSQLStatus>
  private let closing: Closing
  private let prepare: (@Sendable (PostgreSQLSession) throws(StoreError) -> Void)?
  private var servers: Servers
  private var link: ServerLink?
  private var backoff: Backoff
  private var nextAttempt = ContinuousClock.now
  private var connectedAt = ContinuousClock.now

  init(
    _ setting: ConnectionSetting, number: Int, work: WorkQueue<SessionBody>, status: StatusBox<PostgreSQLStatus>,
    closing: Closing
  ) {
    self.executor = SerialQueueExecutor(label: "postgresql.\(number)")
    self.number = number
    self.work = work
    self.status = status
    self.closing = closing
    self.prepare = setting.prepare
    self.servers = Servers(setting.endpoint, options: setting.options, closing: closing)
    let delay = setting.options.reconnectDelay
    self.backoff = Backoff(delay, jitter: .half, stableAfter: delay.upperBound)
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Called once for each time the connection is taken from the idle ones.
  nonisolated func wake() {
    executor.queue.async { self.assumeIsolated { $0.drain() } }
  }

  func close(_ last: (@Sendable (PostgreSQLSession) throws(StoreError) -> Void)?) {
    if let link, let last {
      let session = PostgreSQLSession(link, generation: status.value.generation, isTransaction: false)
      try? last(session)
      try? session.end(succeeded: true)
    }
    link = nil
    status.value.isConnected = false
  }

  private func drain() {
    while let body = work.take(1, for: number).first {
      run(body)
      work.finish(1)
    }
  }

  private func run(_ body: SessionBody) {
    do throws(StoreError) {
      let link = try current()
      let session = PostgreSQLSession(link, generation: status.value.generation, isTransaction: body.isTransaction)
      let outcome = body.run(session)
      let error = finish(session, succeeded: outcome.error == nil)
      settle(link, outcome.error ?? error)
      outcome.resume(error)
    } catch {
      body.refuse(error)
    }
  }

  private func finish(_ session: PostgreSQLSession, succeeded: Bool) -> StoreError? {
    do throws(StoreError) {
      try session.end(succeeded: succeeded)
      return nil
    } catch {
      return error
    }
  }

  private func settle(_ link: ServerLink, _ error: StoreError?) {
    // A server that no longer accepts changes: another one may.
    if link.isBroken || error?.code == .readOnly { lose(error ?? link.lost()) }
  }

  // MARK: Connecting

  private func current() throws(StoreError) -> ServerLink {
    guard !closing.hasBegun else { throw StoreError(.closed, "the connection was closed") }
    if let link {
      if link.isAlive() { return link }
      lose(link.lost())
    }
    if let error = status.value.lastError, ContinuousClock.now < nextAttempt { throw error }
    do throws(StoreError) {
      return try connect()
    } catch {
      status.value.failedConnects += 1
      status.value.lastError = error
      nextAttempt = .now + backoff.next(random: .random(in: 0..<1))
      throw error
    }
  }

  private func connect() throws(StoreError) -> ServerLink {
    let link = try servers.connect()
    let generation = status.value.generation + 1
    if let prepare {
      let session = PostgreSQLSession(link, generation: generation, isTransaction: false)
      try prepare(session)
      try session.end(succeeded: true)
      guard !link.isBroken else { throw link.lost() }
    }
    publish(link, generation)
    return link
  }

  private func publish(_ link: ServerLink, _ generation: Int) {
    self.link = link
    connectedAt = .now
    var status = status.value
    status.generation = generation
    status.isConnected = true
    status.lastRoundTrip = nil
    status.host = link.address
    status.lastError = nil
    status.roundTrips += link.roundTrips
    status.statements += link.answered
    self.status.value = status
    link.onAnswer = { [box = self.status] instant, statements in
      var status = box.value
      status.lastRoundTrip = instant
      status.roundTrips += 1
      status.statements += statements
      box.value = status
    }
  }

  private func lose(_ error: StoreError) {
    link = nil
    backoff.recordEnd(after: connectedAt.duration(to: .now))
    var status = status.value
    status.isConnected = false
    status.losses += 1
    status.lastError = error
    self.status.value = status
  }
}

struct ConnectionSetting: Sendable {
  let endpoint: PostgreSQLEndpoint
  let options: PostgreSQLOptions
  let prepare: (@Sendable (PostgreSQLSession) throws(StoreError) -> Void)?
}
