public import CountersignAMQP
import CountersignConcurrency
public import CountersignTelemetry
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

  let parts: WorkerParts
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
  ///   - source: queue of the jobs.
  ///   - sink: publisher of results, retries and dead letters.
  ///   - clocks: the time of day, and monotonic time.
  ///   - log: its logger.
  ///   - metrics: registry of its metrics.
  ///   - markStore: store of the marks of redelivered jobs; `run` closes it at its end. `nil`: nothing outlives the
  ///     process, and the twentieth delivery of a job is its last.
  public convenience init(
    handler: Handler, options: JobWorkerOptions, lanes: [LaneConfiguration], ledger: any Ledger,
    source: any MessageSource, sink: any MessageSink, clocks: Clocks = .system, log: Logger,
    metrics: MetricsRegistry, markStore: (any MarkStore)? = nil
  ) {
    self.init(
      handler: handler, options: options, lanes: lanes, ledger: ledger, source: source, sink: sink, clocks: clocks,
      log: log, metrics: metrics, ticker: SystemTicker(),
      marks: CrashMarks(
        queue: options.queue, store: markStore, stepsAtOnce: MarkedJobs.groupsAtOnce(lanes),
        trial: TrialPatience(quiet: .lasting(MarkedJobs.quietPatience(lanes, options.rules))), clock: clocks.wall,
        log: log,
        metrics: metrics))
  }

  init(
    handler: Handler, options: JobWorkerOptions, lanes: [LaneConfiguration], ledger: any Ledger,
    source: any MessageSource, sink: any MessageSink, clocks: Clocks, log: Logger, metrics: MetricsRegistry,
    ticker: any Ticker, marks: CrashMarks
  ) {
    precondition(!lanes.isEmpty, "A worker needs at least one lane.")
    self.sink = sink
    self.ticker = ticker
    self.marks = marks
    inFlight = InFlight(limit: options.maximumInFlight, onBegin: ticker.wake)
    parts = WorkerParts(
      handler: handler, options: options, lanes: lanes, ledger: ledger, source: source, sink: sink, clocks: clocks,
      log: log, registry: metrics)
    pulse = WorkerPulse(parts: parts, inFlight: inFlight)
  }

  /// Consumes jobs until `stop`, then ends when everything is settled and closed.
  ///
  /// Canceling its task stops it without patience: calls are canceled, and unsettled jobs are delivered again.
  public func run() async {
    guard start() else { return }
    await withTaskCancellationHandler {
      await work()
    } onCancel: {
      parts.startDraining()
      // Cancellation handlers cannot wait, and nothing else would wake the consumer loop.
      Task { [parts, sink] in
        await sink.stopPromptly()
        await parts.source.stopConsuming()
      }
    }
    // Before the ledger, which may hold them.
    await marks.release()
    await parts.ledger.close()
    finish()
  }

  /// Stops: consumes no further jobs, finishes begun ones, hands back the rest, flushes, closes. Suspends until that is
  /// done.
  public func stop() async {
    parts.startDraining()
    ticker.wake()
    let isRunning = phase.withLock { phase in
      if phase == .idle { phase = .finished }
      return phase == .running
    }
    guard isRunning else { return }
    await parts.source.stopConsuming()
    let sink = sink
    // Unpublishable results would prevent a stop; after the timeout they are left to the next delivery.
    let limit = parts.timers.schedule(at: parts.monotonic.now() + parts.options.drainTimeout) {
      // The timer's action cannot wait for the flush.
      Task { await sink.stopPromptly() }
    }
    await finished.waitIgnoringCancellation()
    parts.timers.cancel(limit)
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

  /// Jobs taken up and not yet acknowledged.
  public var jobsInFlight: Int { inFlight.count }

  private func work() async {
    let parts = parts
    let sink = sink
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await parts.source.run() }
      group.addTask { await sink.run() }
      group.addTask { await self.tick() }
      group.addTask {
        var purge = LedgerPurge(parts: parts)
        await purge.run()
      }
      await consume()
      // Also when the source has ended by itself.
      parts.startDraining()
      await sink.stopPromptly()
      await parts.source.close()
      // Only the ticking is left.
      group.cancelAll()
    }
  }

  /// Runs one child task for each job. Returns when the source has ended and all jobs have.
  private func consume() async {
    let inFlight = inFlight
    let jobs = MarkedJobs(marks: marks, processor: JobProcessor(parts: parts), inFlight: inFlight)
    let source = parts.source
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
