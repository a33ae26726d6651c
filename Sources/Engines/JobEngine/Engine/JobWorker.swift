import CountersignAMQP
import CountersignConcurrency
import CountersignTelemetry
public import CrashMarks
public import ServiceRuntime
import Synchronization

/// A worker: consumes jobs from a queue, carries them out through lanes, and reports their outcomes.
///
/// `run` lives until `stop`. It runs the source and the sink too, so a process needs no further service for them.
///
/// - Important: A job is acknowledged only when its result, its delayed copy or its dead letter is confirmed by the
///   broker.
public final class JobWorker<Handler: JobHandler>: Service {
  private enum Phase {
    case idle
    case running
    case finished
  }

  public var name: String { "worker" }

  let context: WorkerContext
  private let sink: any MessageSink
  private let ticker: any Ticker
  private let inFlight: InFlight
  private let marks: CrashMarks
  private let pulse: WorkerPulse
  private let phase = Mutex(Phase.idle)
  private let finished = Latch()

  /// - Parameters:
  ///   - handler: reads the jobs and calls the providers.
  ///   - options: names and limits of the worker.
  ///   - lanes: its lanes, at least one, with unique names.
  ///   - ledger: its record of calls. `run` closes it at its end.
  ///   - broker: its two ends at the broker.
  ///   - instruments: its clocks, logger and metrics.
  ///   - markStore: store of the marks of redelivered jobs; `run` closes it at its end. `nil`: nothing outlives the
  ///     process, and the twentieth delivery of a job is its last.
  public convenience init(
    handler: Handler, options: JobWorkerOptions, lanes: [LaneConfiguration], ledger: any Ledger,
    broker: WorkerBroker, instruments: WorkerInstruments, markStore: (any MarkStore)? = nil
  ) {
    let marks = CrashMarks(
      queue: options.queue, store: markStore, order: .any(stepsAtOnce: MarkedJobs.groupsAtOnce(lanes)),
      trial: TrialPatience(quiet: .lasting(MarkedJobs.quietPatience(lanes, options.rules))),
      clock: instruments.clocks.wall, logger: instruments.logger, metrics: instruments.metrics)
    self.init(
      handler: handler, options: options, lanes: lanes, ledger: ledger, broker: broker, instruments: instruments,
      ticker: SystemTicker(), marks: marks)
  }

  init(
    handler: Handler, options: JobWorkerOptions, lanes: [LaneConfiguration], ledger: any Ledger,
    broker: WorkerBroker, instruments: WorkerInstruments, ticker: any Ticker, marks: CrashMarks
  ) {
    precondition(!lanes.isEmpty, "A worker needs at least one lane.")
    sink = broker.sink
    self.ticker = ticker
    self.marks = marks
    inFlight = InFlight(limit: options.maxInFlight, onBegin: ticker.wake)
    context = WorkerContext(
      handler: handler, options: options, lanes: lanes, ledger: ledger, broker: broker, instruments: instruments)
    pulse = WorkerPulse(context: context, inFlight: inFlight)
  }

  /// Consumes jobs until `stop`, then ends when everything is settled and closed.
  ///
  /// Canceling its task stops it without patience: calls are canceled, and unsettled jobs are delivered again.
  public func run() async {
    guard start() else { return }
    await withTaskCancellationHandler {
      await work()
    } onCancel: {
      context.startDraining()
      // Cancellation handlers cannot wait, and nothing else would wake the consumer loop.
      Task { [context, sink] in
        await sink.stopPromptly()
        await context.source.stopConsuming()
      }
    }
    // Before the ledger, which may hold them.
    await marks.release()
    await context.ledger.close()
    finish()
  }

  /// Stops: consumes no further jobs, finishes begun ones, hands back the rest, flushes, closes. Suspends until that is
  /// done.
  public func stop() async {
    context.startDraining()
    ticker.wake()
    let isRunning = phase.withLock { phase in
      if phase == .idle { phase = .finished }
      return phase == .running
    }
    guard isRunning else { return }
    await context.source.stopConsuming()
    // Unpublishable results would prevent a stop; after the timeout they are left to the next delivery.
    let end = context.monotonic.now() + context.options.drainTimeout
    let limit = Task { [context, sink] in
      if await context.timers.sleep(until: end, outlastsStop: true) { await sink.stopPromptly() }
    }
    await finished.waitIgnoringCancellation()
    limit.cancel()
  }

  /// Adds the worker's checks: `jobs` fails while none can be served or the worker stops, `ledger` while it cannot be
  /// written. The connections have checks of their own.
  ///
  /// - Parameters:
  ///   - health: checks of the process.
  ///   - prefix: distinguishes the checks of several workers of one process: `recaptcha.`.
  public func register(in health: HealthRegistry, prefix: String = "") {
    let pulse = pulse
    health.register(prefix + "jobs") { pulse.jobsHealth }
    health.register(prefix + "ledger") { pulse.ledgerHealth }
  }

  /// Adds the worker's queue, the state of its lanes and the reasons of the latest delays to what the doctor is told.
  public func describe(in runtime: RuntimeRegistry) {
    let context = context
    runtime.add { report in
      let queue = context.options.queue
      let now = context.monotonic.now()
      report.queues.append(queue)
      report.lanes += context.lanes.values.map { lane in lane.read { $0.described(queue, now: now) } }
        .sorted { $0.name < $1.name }
      report.delays += context.recentDelays.list(queue, now: now)
    }
  }

  /// Jobs begun and not yet acknowledged.
  public var jobsInFlight: Int { inFlight.count }

  private func work() async {
    let context = context
    let sink = sink
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await context.source.run() }
      group.addTask { await sink.run() }
      group.addTask { await self.tick() }
      group.addTask {
        var purge = LedgerPurge(context: context)
        await purge.run()
      }
      await consume()
      // Also when the source has ended by itself.
      context.startDraining()
      await sink.stopPromptly()
      await context.source.close()
      // Only the ticking is left.
      group.cancelAll()
    }
  }

  /// Returns when the source has ended and all jobs have.
  private func consume() async {
    let inFlight = inFlight
    let jobs = MarkedJobs(marks: marks, context: context, inFlight: inFlight)
    let source = context.source
    await withDiscardingTaskGroup { group in
      while let batch = await source.next() {
        inFlight.begin(batch.count)
        let redelivered = batch.filter(\.isRedelivered)
        // Suspects are tried one at a time, and first deliveries do not wait for them all.
        if !redelivered.isEmpty { group.addTask { await jobs.workOff(redelivered) } }
        let first = batch.filter { !$0.isRedelivered }
        if !first.isEmpty { await jobs.enter(first.count) }
        for delivery in first { group.addTask { await jobs.work(on: delivery) } }
        await inFlight.waitForRoom()
      }
    }
  }

  private func tick() async {
    let pulse = pulse
    await withDiscardingTaskGroup { group in
      while !Task.isCancelled {
        await ticker.next(within: pulse.pause)
        for task in pulse.beat() { group.addTask { await task() } }
      }
      // A probe or a pause in progress is not awaited.
      group.cancelAll()
    }
  }

  private func start() -> Bool {
    phase.withLock { phase in
      guard phase == .idle else { return false }
      phase = .running
      return true
    }
  }

  private func finish() {
    phase.withLock { $0 = .finished }
    finished.open()
  }
}
