import CountersignAMQP
import CountersignTelemetry
import JobEngine
import Synchronization

/// Takes every publication, or answers as it is told.
final class RecordingSink: JobSink {
  let isReady: Bool
  private let state = Mutex<(outcome: Result<PublishOutcome, AMQPError>, publications: [Publication])>(
    (.success(.confirmed), []))

  init(_ outcome: Result<PublishOutcome, AMQPError> = .success(.confirmed), isReady: Bool = true) {
    self.isReady = isReady
    state.withLock { $0.outcome = outcome }
  }

  var publications: [Publication] { state.withLock { $0.publications } }
  /// How long the last one was waited for.
  let waited = Mutex<Duration?>(nil)

  func run() async {}
  func stop() async {}
  func publish(
    _ batch: [Publication], timeout: Duration?, isWanted: (@Sendable () -> Bool)?
  ) async throws(AMQPError) -> [PublishOutcome] {
    for publication in batch { try publication.check(maxBodyBytes: 4 << 20) }
    waited.withLock { $0 = timeout }
    let outcome = state.withLock { state in
      state.publications += batch
      return state.outcome
    }
    return [try outcome.get()]
  }
}

struct NoLog: LogSink {
  func write(_ event: LogEvent) {}
}
