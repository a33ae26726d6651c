import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import Synchronization

final class WorkerContext: Sendable {
  let options: JobWorkerOptions
  let lanes: [String: Lane]
  let ledger: any Ledger
  let ledgerBatcher: LedgerBatcher
  let source: any MessageSource
  let publisher: ReliablePublisher
  let callGuard: CallGuard
  let timers: Timers
  /// Time of day, for deadlines, leases and messages.
  let clock: any WallClock
  /// Monotonic time, for waits and measurements.
  let monotonic: any MonotonicClock
  let logger: Logger
  let alarms: ThrottledLog
  let metrics: WorkerMetrics
  let recentDelays = RecentDelays()
  let read: @Sendable (Delivery, UnixTime) throws(ContractProblem) -> IncomingJob
  let probe: @Sendable (_ lane: String) async -> ProbeResult
  let senders: SenderRule
  let results: ResultWriter
  let stages: StageWriter
  let delays: DelayWriter
  let deadLetters: DeadLetterWriter
  let leaseClock: LeaseClock
  private let ledgerBreaker: Mutex<Breaker>
  private let ledgerFailure = Mutex("")
  private let draining = Atomic<Bool>(false)

  init<Handler: JobHandler>(
    handler: Handler, options: JobWorkerOptions, lanes: [LaneConfiguration], ledger: any Ledger,
    broker: WorkerBroker, instruments: WorkerInstruments
  ) {
    let (clocks, logger) = (instruments.clocks, instruments.logger)
    let now = clocks.monotonic.now()
    var options = options
    if lanes.count > 1 {
      options.rules.maxSlotWait = min(options.rules.maxSlotWait, options.rules.sharedSlotWait)
    }
    self.options = options
    self.lanes = Dictionary(
      uniqueKeysWithValues: lanes.map { ($0.name, Lane($0, now: now)) })
    self.ledger = ledger
    ledgerBatcher = LedgerBatcher(ledger)
    source = broker.source
    clock = clocks.wall
    monotonic = clocks.monotonic
    leaseClock = LeaseClock(
      clocks, longestLease: options.rules.leaseMargin + (lanes.map(\.callTimeout).max() ?? .zero))
    self.logger = logger
    timers = Timers()
    alarms = ThrottledLog(logger, clock: clocks.monotonic)
    metrics = WorkerMetrics(instruments.metrics, queue: options.queue, lanes: lanes.map(\.name))
    publisher = ReliablePublisher(
      sink: broker.sink, timers: timers, clock: clocks.monotonic, logger: alarms, metrics: metrics)
    callGuard = CallGuard(timers: timers, clock: clocks.monotonic)
    senders = .queue(consumedBy: options.author.userID)
    let reader = MessageReader(handler: handler, senders: senders)
    read = { delivery, now throws(ContractProblem) in try reader.read(delivery, now: now) }
    probe = { await handler.probe(lane: $0) }
    results = ResultWriter(jobType: Handler.Body.type, queue: options.queue, author: options.author)
    stages = StageWriter(author: options.author, queue: options.queue)
    delays = DelayWriter(queue: options.queue, userID: options.author.userID)
    deadLetters = DeadLetterWriter(queue: options.queue, userID: options.author.userID)
    ledgerBreaker = Mutex(Breaker(threshold: options.ledgerFailureThreshold, delay: options.ledgerPause))
  }

  /// Whether a redelivered job may have been begun without the ledger's knowledge.
  var countsRedeliveries: Bool { options.hasOtherHosts || !ledger.remembers }

  var isDraining: Bool { draining.load(ordering: .relaxed) }

  func startDraining() {
    draining.store(true, ordering: .relaxed)
    for lane in lanes.values { lane.stop() }
    timers.stopSleeping()
  }

  var ledgerOutage: String? {
    ledgerBreaker.withLock { $0.isFailing } ? ledgerFailure.withLock { $0 } : nil
  }

  func ledgerSucceeded() {
    ledgerBreaker.withLock { $0.succeeded() }
  }

  func ledgerFailed(_ error: StoreError, now: MonotonicTime) {
    ledgerFailure.withLock { $0 = error.message }
    ledgerBreaker.withLock { $0.failed(now: now, jitter: .random(in: 0..<1)) }
  }

  /// Check whether a delivery is still ours to replace by another message.
  func isLive(_ delivery: Delivery) -> @Sendable () -> Bool {
    { [source, tag = delivery.tag] in source.isLive(tag) }
  }

  func serving(now: MonotonicTime) -> Serving {
    let (isOpen, isFailing) = ledgerBreaker.withLock { ($0.isOpen(now: now), $0.isFailing) }
    if isOpen { return .none(.ledgerUnavailable) }
    var outage: Reason?
    var trial: Reason?
    var hasLane = false
    for lane in lanes.values {
      let (isUp, isDown, reason) = lane.read { ($0.isUp, $0.isDown, $0.reason) }
      if isUp { hasLane = true } else if isDown { outage = outage ?? reason } else { trial = trial ?? reason }
    }
    if hasLane { return isFailing ? .oneByOne(.ledgerUnavailable) : .all }
    if let trial { return .oneByOne(trial) }
    return outage.map { .none($0) } ?? .all
  }
}
