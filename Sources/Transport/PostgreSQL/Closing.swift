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

  /// Whether it has begun: nothing new may begin.
  var hasBegun: Bool { cancelInstant.withLock { $0 != nil } }

  /// Whether the running statement must be canceled.
  var isCanceling: Bool { cancelInstant.withLock { $0.map { ContinuousClock.now >= $0 } ?? false } }

  /// Whether the connection must be cut.
  var isCutting: Bool {
    cancelInstant.withLock { $0.map { ContinuousClock.now >= $0 + Self.cancelTime } ?? false }
  }
}
