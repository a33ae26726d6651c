import CountersignAMQP
import Synchronization

/// A source that records which of the watched deliveries were given back to the queue.
final class RequeueTracker: MessageSource {
  private struct State {
    var watched: Set<DeliveryTag> = []
    var requeued: Set<DeliveryTag> = []
  }

  private let source: any MessageSource
  private let state = Mutex(State())

  init(_ source: any MessageSource) {
    self.source = source
  }

  func watch(_ tags: some Sequence<DeliveryTag>) {
    state.withLock { $0.watched.formUnion(tags) }
  }

  /// Returns those that were given back, and stops recording for all.
  func take(_ tags: some Sequence<DeliveryTag>) -> Set<DeliveryTag> {
    state.withLock { state in
      let requeued = state.requeued.intersection(tags)
      state.watched.subtract(tags)
      state.requeued.subtract(tags)
      return requeued
    }
  }

  func reject(_ tag: DeliveryTag, requeue: Bool) {
    if requeue {
      state.withLock { state in
        if state.watched.contains(tag) { state.requeued.insert(tag) }
      }
    }
    source.reject(tag, requeue: requeue)
  }

  func run() async { await source.run() }
  func next() async -> [Delivery]? { await source.next() }
  func ack(_ tag: DeliveryTag) { source.ack(tag) }
  func isLive(_ tag: DeliveryTag) -> Bool { source.isLive(tag) }
  func pause() async { await source.pause() }
  func resume() async { await source.resume() }
  func resumeOneByOne() async { await source.resumeOneByOne() }
  func stopConsuming() async { await source.stopConsuming() }
  func close() async { await source.close() }
  var isReady: Bool { source.isReady }
}
