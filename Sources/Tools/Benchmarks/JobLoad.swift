package import CountersignAMQP
package import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

/// Fills the queue of a worker, and measures how fast the queue drains.
package struct JobLoad: Sendable {
  private let endpoint: BrokerEndpoint
  private let keys: KeyRing?

  private static let pollInterval: Duration = .milliseconds(50)
  private static let stallLimit: Duration = .seconds(60)
  private static let jobLifetime: Duration = .seconds(3_600)

  package init(endpoint: BrokerEndpoint, keys: KeyRing? = nil) {
    self.endpoint = endpoint
    self.keys = keys
  }

  package func fill(_ count: Int, with kind: BenchmarkJob = .sms) async throws {
    let run = BenchmarkJob.Run(
      deadline: SystemClock().now() + Self.jobLifetime, sealer: keys.map { Sealer(keys: $0) })
    try await withRunningPublisher(endpoint, name: "bench-fill") { publisher in
      try await publishBatches(count, with: publisher) { try $0.map { try kind.publication($0, of: run) } }
    }
  }

  /// Waits until a number of results has arrived in a queue without consumers, and measures their rate.
  ///
  /// The clock runs from the first tenth of them to the last, to exclude the start of a worker.
  /// - Parameter before: number of results in the queue before the jobs.
  package func drainRate(_ count: Int, before: Int, resultQueue: String) async throws -> Double {
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
        return try Self.rate(of: done - first.done, in: now - first.at)
      }
      guard now - lastProgress.at < Self.stallLimit else {
        throw BenchmarkError(
          "only \(done) of \(count) jobs have ended, without progress for \(Self.stallLimit); does a worker run?")
      }
      try await Task.sleep(for: Self.pollInterval)
    }
  }

  static func rate(of jobs: Int, in time: Duration) throws(BenchmarkError) -> Double {
    guard jobs > 0, time > .zero else {
      throw BenchmarkError("the jobs ended faster than their rate can be measured; use more of them")
    }
    return Double(jobs) / time.inSeconds
  }
}
