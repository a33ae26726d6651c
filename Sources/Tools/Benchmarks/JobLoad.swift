public import CountersignAMQP
public import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

/// Fills the queue of a worker, and measures how fast they drain it.
public struct JobLoad: Sendable {
  private let endpoint: BrokerEndpoint
  private let keys: KeyRing?

  private static let batch = 250
  private static let batchesInFlight = 4
  private static let pollInterval: Duration = .milliseconds(50)
  /// No job ends for so long: whoever should work does not.
  private static let stallLimit: Duration = .seconds(60)
  private static let jobLifetime: Duration = .seconds(3_600)

  /// - Parameters:
  ///   - endpoint: a user who may publish jobs and look at queues.
  ///   - keys: with them the secrets are sealed, as the coordinator seals them.
  public init(endpoint: BrokerEndpoint, keys: KeyRing? = nil) {
    self.endpoint = endpoint
    self.keys = keys
  }

  /// Puts jobs into the queue.
  /// - Parameters:
  ///   - count: how many.
  ///   - kind: which jobs.
  public func fill(_ count: Int, with kind: BenchmarkJob = .sms) async throws {
    let run = BenchmarkJob.Run(
      deadline: SystemClock().now() + Self.jobLifetime, sealer: keys.map { Sealer(keys: $0) })
    try await withRunningPublisher(endpoint, name: "bench-fill") { publisher in
      try await withThrowingTaskGroup(of: Void.self) { group in
        var running = 0
        for start in stride(from: 0, to: count, by: Self.batch) {
          if running == Self.batchesInFlight {
            try await group.next()
            running -= 1
          }
          running += 1
          let range = start..<min(start + Self.batch, count)
          group.addTask {
            try await publishAll(range.map { try kind.publication($0, of: run) }, with: publisher)
          }
        }
        try await group.waitForAll()
      }
    }
  }

  /// Waits until so many results have arrived in a queue that nobody consumes, and says how fast they came.
  ///
  /// The clock runs from the first tenth of them to the last, so that the start of a worker does not count.
  /// - Parameters:
  ///   - count: how many results to wait for.
  ///   - before: how many were in the queue before the jobs.
  ///   - resultQueue: where the results arrive.
  /// - Returns: jobs per second.
  public func drainRate(_ count: Int, before: Int, resultQueue: String) async throws -> Double {
    let admin = try await AdminConnection.open(endpoint: endpoint, options: ConnectionOptions(name: "bench-watch"))
    let clock = ContinuousClock()
    let warm = count / 10
    var first: (at: ContinuousClock.Instant, done: Int)?
    var lastProgress = (at: clock.now, done: 0)
    while true {
      let done = try await admin.declareQueue(resultQueue, passive: true).messageCount - before
      let now = clock.now
      if first == nil, done >= warm { first = (now, done) }
      if done > lastProgress.done { lastProgress = (now, done) }
      if done >= count, let first {
        try await admin.close()
        return Double(done - first.done) / (now - first.at).inSeconds
      }
      guard now - lastProgress.at < Self.stallLimit else {
        throw BenchmarkError("only \(done) of \(count) jobs have ended and nothing moves; does a worker run?")
      }
      try await Task.sleep(for: Self.pollInterval)
    }
  }

  /// How many messages wait in a queue.
  public func depth(of queue: String) async throws -> Int {
    let admin = try await AdminConnection.open(endpoint: endpoint, options: ConnectionOptions(name: "bench-watch"))
    let count = try await admin.declareQueue(queue, passive: true).messageCount
    try await admin.close()
    return count
  }
}
