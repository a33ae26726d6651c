import CountersignMessages
import CountersignTelemetry
import Synchronization

/// Results of other senders' jobs. The results of a job type arrive in one queue, whoever sent the job; the coordinator
/// counts and acknowledges foreign ones, since dead letters would bury the important ones.
final class ForeignResults: Sendable {
  private let metrics: CoordinatorMetrics
  private let logger: Logger
  private let clock: any WallClock
  private let lastNote = Mutex<UnixTime?>(nil)

  /// Interval of log entries: there may be millions.
  static let notePause = Duration.seconds(600)

  init(metrics: CoordinatorMetrics, logger: Logger, clock: any WallClock) {
    self.metrics = metrics
    self.logger = logger
    self.clock = clock
  }

  /// Whether a type is the result of a job of which no version is known here. An unknown version of a known type is not
  /// foreign: it may belong to a job of ours.
  static func isOne(_ type: MessageType) -> Bool {
    type.name.hasSuffix(suffix) && !ResultHandler.types.contains { $0.name == type.name }
  }

  private static let suffix = ".result"

  func note(_ type: MessageType) {
    metrics.foreignResults.increment()
    let now = clock.now()
    let isDue = lastNote.withLock { last in
      if let last, now < last + Self.notePause, last <= now { return false }
      last = now
      return true
    }
    guard isDue else { return }
    logger.info("results of other senders' jobs are passed over", ["type": "\(type.text)"])
  }
}
