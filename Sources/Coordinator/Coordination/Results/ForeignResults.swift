import CountersignMessages
import CountersignTelemetry
import Synchronization

/// Results of jobs that are not the coordinator's own. The results of a job type come through one queue, also those of jobs that other senders gave; theirs
/// are not the coordinator's business. They are counted and acknowledged: as dead letters they would bury what matters.
final class ForeignResults: Sendable {
  private let metrics: CoordinatorMetrics
  private let logger: Logger
  private let clock: any WallClock
  private let lastNote = Mutex<UnixTime?>(nil)

  /// The log tells of them once in a while: there may be millions.
  static let notePause = Duration.seconds(600)

  init(metrics: CoordinatorMetrics, logger: Logger, clock: any WallClock) {
    self.metrics = metrics
    self.logger = logger
    self.clock = clock
  }

  /// Whether a type is the result of a job of which no version is known here. A version that is not known is another matter: it may be of our
  /// own job.
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
