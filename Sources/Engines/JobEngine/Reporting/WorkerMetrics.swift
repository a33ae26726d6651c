import CountersignMessages
import CountersignTelemetry

/// Series that every job touches are looked up once.
struct WorkerMetrics: Sendable {
  struct LaneMetrics: Sendable {
    var outcomes: [JobOutcome: Counter]
    var calls: Histogram
    var retries: Counter
    var inFlight: Gauge
    var waiting: Gauge
    var isUp: Gauge
  }

  let lanes: [String: LaneMetrics]
  /// Jobs that ended without a lane: expired, or refused before a call.
  let laneless: [JobOutcome: Counter]
  let inFlight: Gauge
  let delays: MetricFamily<Counter>
  let deadLetters: MetricFamily<Counter>
  let continued: Counter
  let republished: Counter
  let handedBack: Counter
  let leftToRedelivery: Counter
  let publishFailures: Counter
  let ledgerFailures: Counter
  let ledgerTime: Histogram
  let ledgerForgotten: Counter
  private let ledgerFileBytes: Gauge
  private let ledgerUsedBytes: Gauge
  private let ledgerOldest: Gauge
  let isPaused: Gauge
  /// The value of the label `type`: the type of the jobs, except where a type has a second queue.
  private let queue: String

  init(_ registry: MetricsRegistry, queue: String, lanes names: [String]) {
    let jobs = registry.counter(
      "countersign_jobs_total", "Jobs that ended, by outcome.", labels: ["type", "lane", "outcome"])
    let calls = registry.histogram(
      "countersign_provider_call_seconds", "Duration of calls to providers.", labels: ["type", "lane"])
    let retries = registry.counter(
      "countersign_provider_retries_total", "Calls after which the job has to be tried again.",
      labels: ["type", "lane"])
    let laneInFlight = registry.gauge(
      "countersign_lane_calls_in_flight", "Slots taken.", labels: ["type", "lane"])
    let laneWaiting = registry.gauge(
      "countersign_lane_jobs_waiting", "Jobs waiting for a slot.", labels: ["type", "lane"])
    let laneUp = registry.gauge(
      "countersign_lane_up", "1 when the lane is up, 0 when it is down.", labels: ["type", "lane"])
    func outcomes(_ lane: String) -> [JobOutcome: Counter] {
      Dictionary(
        uniqueKeysWithValues: JobOutcome.allCases.map { ($0, jobs.with(queue, lane, $0.rawValue)) })
    }
    self.lanes = Dictionary(
      uniqueKeysWithValues: names.map { name in
        (
          name,
          LaneMetrics(
            outcomes: outcomes(name), calls: calls.with(queue, name), retries: retries.with(queue, name),
            inFlight: laneInFlight.with(queue, name), waiting: laneWaiting.with(queue, name),
            isUp: laneUp.with(queue, name))
        )
      })
    self.queue = queue
    // A lane is up until a call says otherwise.
    for lane in lanes.values { lane.isUp.set(1) }
    laneless = outcomes("")
    inFlight = registry.gauge(
      "countersign_jobs_in_flight", "Jobs begun and not yet acknowledged.", labels: ["type"]
    ).with(queue)
    delays = registry.counter(
      "countersign_job_delays_total", "Delayed jobs, by reason.", labels: ["type", "step", "reason"])
    deadLetters = registry.counter(
      "countersign_dead_letters_total", "Messages that broke the contract, by problem.", labels: ["type", "reason"])
    continued = registry.counter("countersign_jobs_continued_total", "Jobs that continued as another message.")
    republished = registry.counter(
      "countersign_results_republished_total", "Results published again for a job that was delivered again.")
    handedBack = registry.counter("countersign_jobs_handed_back_total", "Jobs returned to the queue before they began.")
    leftToRedelivery = registry.counter(
      "countersign_jobs_left_to_redelivery_total",
      "Jobs that were to be delayed or dead-lettered when their connection was lost; the broker redelivers them.")
    publishFailures = registry.counter(
      "countersign_publish_failures_total", "Messages that the broker returned or refused.")
    ledgerFailures = registry.counter("countersign_ledger_failures_total", "Failed writes to the ledger.")
    ledgerTime = registry.histogram(
      "countersign_ledger_write_seconds", "How long a job waits for a write to the ledger.")
    ledgerForgotten = registry.counter(
      "countersign_ledger_forgotten_early_total",
      "Jobs forgotten early because the ledger reached its size limit.")
    ledgerFileBytes = registry.gauge("countersign_ledger_file_bytes", "Size of the ledger's file.")
    ledgerUsedBytes = registry.gauge(
      "countersign_ledger_used_bytes",
      "Used part of the ledger's file; the rest is filled before the file grows.")
    ledgerOldest = registry.gauge(
      "countersign_ledger_oldest_seconds", "Age of the oldest job that the ledger remembers.")
    isPaused = registry.gauge(
      "countersign_worker_paused",
      "1 while the worker takes no jobs, or one at a time as a trial, because it could serve none.",
      labels: ["type"]
    ).with(queue)
  }

  func ended(_ outcome: JobOutcome, lane: String?) {
    let counters = lane.flatMap { lanes[$0]?.outcomes } ?? laneless
    counters[outcome]?.increment()
  }

  func delayed(_ delay: JobDelay) {
    delays.with(queue, delay.step.rawValue, delay.reason.code).increment()
  }

  func ledger(_ size: LedgerSize, now: UnixTime) {
    ledgerFileBytes.set(Double(size.fileBytes))
    ledgerUsedBytes.set(Double(size.usedBytes))
    ledgerOldest.set(size.oldest.map { max(0, (now - $0).fractionalSeconds) } ?? 0)
  }

  func dead(_ problem: ContractProblem) {
    deadLetters.with(queue, problem.code.rawValue).increment()
  }
}
