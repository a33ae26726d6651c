import CountersignAMQP
import CountersignConcurrency
import CountersignTelemetry

struct ReliablePublisher: Sendable {
  enum Delivered: Sendable, Hashable {
    case confirmed
    /// It was returned or refused in all attempts.
    case undeliverable
    /// It is larger than a message may be, permanently.
    case tooLarge
    /// The worker stops, or the publisher is closed.
    case stopped
    /// The broker delivers the message that it stands for again.
    case unwanted
  }

  /// Maximum attempts of one publication. With backoff they take about seven minutes.
  static let maxTries = 20
  /// Delay between attempts: doubled from the shortest to the longest.
  static let delay: ClosedRange<Duration> = .milliseconds(500) ... .seconds(30)

  let sink: any MessageSink
  let timers: Timers
  let clock: any MonotonicClock
  let logger: ThrottledLog
  let metrics: WorkerMetrics

  func deliver(
    _ publications: JobPublications, jobID: String, givesUp: Bool = true, isWanted: (@Sendable () -> Bool)? = nil
  ) async -> Delivered {
    var publications = publications
    while true {
      guard isWanted?() ?? true else { return .unwanted }
      let outcomes: [PublishOutcome]
      do throws(AMQPError) {
        // A result waits for the broker however long it is away: the ledger has it, and stopping ends the wait.
        outcomes = try await sink.publish(publications.batch, timeout: nil, isWanted: isWanted)
      } catch {
        if error.code == .closed || error.code == .canceled { return .stopped }
        if error.code == .unwanted { return .unwanted }
        report(error, jobID)
        if error.code == .tooLarge { return .tooLarge }
        outcomes = []
      }
      if let failure = publications.take(outcomes) { report(failure, publications.essential, jobID) }
      if publications.batch.isEmpty { return .confirmed }
      if givesUp, publications.essential != nil, publications.tries >= Self.maxTries { return .undeliverable }
      let pause = Backoff(Self.delay, jitter: .half).delay(after: publications.tries, random: .random(in: 0..<1))
      guard await timers.sleep(until: clock.now() + pause) else {
        return publications.essential == nil ? .confirmed : .stopped
      }
    }
  }

  private func report(_ error: AMQPError, _ jobID: String) {
    metrics.publishFailures.increment()
    logger.error("publish failed", [.jobID: jobID, .error: error.description])
  }

  private func report(_ failure: PublishOutcome, _ publication: Publication?, _ jobID: String) {
    metrics.publishFailures.increment()
    let why: String
    switch failure {
    case .returned(let code, let text): why = "returned: \(code) \(text)"
    case .nacked: why = "refused: a queue is full or without a leader"
    case .confirmed: return
    }
    logger.error(
      "the broker did not accept a message; trying again",
      [
        .jobID: jobID, .exchange: publication?.exchange, .routingKey: publication?.routingKey, .error: why,
        .hint: "check the topology: countersign topology check",
      ])
  }
}
