import Synchronization

/// Webhooks that may have something to send.
final class Wakes: Sendable {
  private let ids = Mutex<Set<String>>([])
  /// For one follower, until the end.
  let signals: AsyncStream<Void>
  private let signal: AsyncStream<Void>.Continuation

  init() {
    // One signal is enough for all that is there.
    (signals, signal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  func wake(_ id: String) {
    if ids.withLock({ $0.insert(id).inserted }) { signal.yield() }
  }

  /// Has the look at all webhooks repeated.
  func wakeAll() { signal.yield() }

  func take() -> Set<String> {
    ids.withLock { ids in
      defer { ids = [] }
      return ids
    }
  }

  func end() { signal.finish() }
}
