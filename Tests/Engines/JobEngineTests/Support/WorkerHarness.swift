import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import CrashMarks
import ServiceRuntime
import TestSupport
import Testing

@testable import JobEngine

struct WorkerHarness: Sendable {
  let journal: Journal
  let source: MemoryMessageSource
  let sink: MemoryMessageSink
  let handler: TestHandler
  let clocks: ManualClocks
  let ticker = ManualTicker()
  let registry = MetricsRegistry()
  let logs: MemorySink
  let health = HealthRegistry()
  let worker: JobWorker<TestHandler>

  init(
    lanes: [LaneConfiguration], ledger: any Ledger, journal: Journal, clocks: ManualClocks,
    options: JobWorkerOptions, marks: CrashMarks? = nil
  ) {
    self.journal = journal
    self.clocks = clocks
    source = MemoryMessageSource(onEvent: { journal.add(Journal.Entry($0)) })
    sink = MemoryMessageSink(user: options.author.userID, onEvent: { journal.add(Journal.Entry($0)) })
    handler = TestHandler(journal)
    logs = MemorySink()
    worker = JobWorker(
      handler: handler, options: options, lanes: lanes, ledger: ledger,
      broker: WorkerBroker(source: source, sink: sink),
      instruments: WorkerInstruments(
        clocks: clocks.clocks, logger: Logger(label: "worker", level: .debug, sink: logs, clock: clocks.wall),
        metrics: registry),
      ticker: ticker,
      marks: marks
        ?? CrashMarks.none(queue: options.queue, clock: clocks.wall, logger: Logger(label: "worker", sink: logs)))
    worker.register(in: health)
    health.setRunning()
  }

  var problems: [String: String] {
    health.report().checks.reduce(into: [:]) { $0[$1.name] = $1.problem }
  }

  static var options: JobWorkerOptions {
    var options = JobWorkerOptions(queue: "test.job", author: Author(appID: "test-worker", userID: "worker"))
    options.ledgerFailureThreshold = 3
    return options
  }

  /// Lets time pass, and lets the worker notice.
  func advance(by duration: Duration) async throws {
    clocks.advance(by: duration)
    try await ticker.tick()
  }

  /// Lets time pass until a condition holds. What takes longer than a moment leaves the threads to other tasks: on a busy
  /// machine the clock would else be past every deadline before the worker has looked at it.
  func advance(
    _ step: Duration = .milliseconds(100), until what: String, _ condition: @Sendable () async -> Bool
  ) async throws {
    for look in 0..<5000 {
      if await condition() { return }
      try await advance(by: step)
      if look < 50 {
        for _ in 0..<10 { await Task.yield() }
      } else {
        try await Task.sleep(for: .milliseconds(10))
      }
    }
    throw NeverHappened(description: what)
  }

  func published(to exchange: String) -> [Publication] {
    sink.confirmed.filter { $0.exchange == exchange && !Self.isDelayReport($0) }
  }

  var delayReports: [Publication] { sink.confirmed.filter(Self.isDelayReport) }

  private static func isDelayReport(_ publication: Publication) -> Bool {
    publication.message.type == JobDelayed.type(ofJob: TestJob.type).text
  }

  var delayedJobs: [Publication] { sink.confirmed.filter { $0.exchange.hasPrefix(Topology.Queues.retryPrefix) } }

  func result() throws -> JobResult {
    let results = published(to: Topology.Exchanges.results)
    try #require(results.count == 1)
    return try JobResult(json: results[0].message.body)
  }

  func delayed() throws -> Publication {
    let delayed = delayedJobs
    try #require(delayed.count == 1)
    return delayed[0]
  }

  func wasSettled(_ number: UInt64) -> Bool {
    journal.contains(.acked(number)) || journal.contains(.rejected(number, requeue: true))
      || journal.contains(.rejected(number, requeue: false))
  }

  @discardableResult
  func deliver(_ message: Message, isRedelivered: Bool = false, isOversize: Bool = false) -> UInt64 {
    source.deliver(
      Delivery(
        message: message, isRedelivered: isRedelivered, exchange: "countersign.jobs", routingKey: "test.job",
        isOversize: isOversize))
  }

  @discardableResult
  func process(_ message: Message, isRedelivered: Bool = false, isOversize: Bool = false) async throws -> UInt64 {
    let number = deliver(message, isRedelivered: isRedelivered, isOversize: isOversize)
    try await eventually("delivery \(number) is settled") { wasSettled(number) }
    return number
  }
}

func withWorker(
  lanes: [LaneConfiguration] = [LaneConfiguration(name: "a")], ledger: (any Ledger)? = nil,
  clocks: ManualClocks = ManualClocks(start), options: JobWorkerOptions = WorkerHarness.options,
  marks: CrashMarks? = nil,
  _ body: @Sendable (WorkerHarness) async throws -> Void
) async throws {
  let journal = Journal()
  let harness = WorkerHarness(
    lanes: lanes, ledger: ledger ?? MemoryLedger(journal), journal: journal, clocks: clocks, options: options,
    marks: marks)
  async let run: Void = harness.worker.run()
  let result: Result<Void, any Error>
  do { result = .success(try await body(harness)) } catch { result = .failure(error) }
  await harness.worker.stop()
  await run
  try result.get()
}

func job(
  _ id: String = "job-1", deadline: UnixTime = start + .seconds(600), lanes: [String]? = nil,
  onUnknown: OnUnknown? = nil, replyTo: String? = nil, headers: [String: FieldValue] = [:]
) throws -> Message {
  let body = try TestJob(deadline: deadline, lanes: lanes, onUnknown: onUnknown).json()
  var message = Envelope(type: TestJob.type, messageID: id, correlationID: "verification-1", replyTo: replyTo)
    .message(body: body)
  message.headers.merge(headers) { _, new in new }
  return message
}
