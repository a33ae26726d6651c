import Synchronization

/// The wish to end a connection, which its thread looks at while it waits.
final class Closing: Sendable {
  static let interval = Duration.milliseconds(50)
  private static let cancelTime = Duration.seconds(1)

  private let cancelInstant = Mutex<ContinuousClock.Instant?>(nil)

  /// Has the running body end by itself before an instant, then its statement is canceled, and soon afterwards the
  /// connection is cut. A second call makes it earlier at most.
  func begin(cancelingAt instant: ContinuousClock.Instant) {
    cancelInstant.withLock { $0 = min($0 ?? instant, instant) }
  }

  var hasBegun: Bool { cancelInstant.withLock { $0 != nil } }

  var isCanceling: Bool { cancelInstant.withLock { $0.map { ContinuousClock.now >= $0 } ?? false } }

  var isCutting: Bool {
    cancelInstant.withLock { $0.map { ContinuousClock.now >= $0 + Self.cancelTime } ?? false }
  }
}
