import CountersignConcurrency
import Synchronization

/// Exchange between a consumer's callers and its connection's queue: deliveries one way, settlements the other, both in
/// batches. Deliveries are bounded by the prefetch, settlements by the deliveries.
///
/// Deliveries do not pass through an `Inbox`: their consumer is a task that is resumed with the deliveries.
final class ConsumerInbox: Sendable {
  /// From `stopped` on there is no way back.
  enum Wish: Int, Comparable {
    case consuming
    /// Consuming with one delivery at a time.
    case trying
    case paused
    /// Paused, with everything unsettled returned to the broker.
    case aside
    case stopped, closed

    /// `nil`: there is no consumer.
    func limit(prefetch: Int) -> Int? {
      switch self {
      case .consuming: prefetch
      case .trying: 1
      case .paused, .aside, .stopped, .closed: nil
      }
    }

    static func < (left: Wish, right: Wish) -> Bool { left.rawValue < right.rawValue }
  }

  struct Settlement: Sendable {
    enum Kind: Sendable { case ack, requeue, discard }

    var tag: DeliveryTag
    var kind: Kind
  }

  fileprivate typealias Waiter = CheckedContinuation<[Delivery]?, Never>

  fileprivate struct State {
    var deliveries: [Delivery] = []
    var waiter: Waiter?
    var isFinished = false
    var wish = Wish.consuming
    var granted: [Latch] = []
  }

  private let state = Mutex(State())
  private let settlements = Inbox<Settlement>()
  /// Number of the channel on which deliveries can be settled. 0 if there is none.
  private let epoch = Atomic<UInt32>(0)

  // MARK: - Callers

  func isLive(_ tag: DeliveryTag) -> Bool {
    tag.epoch != 0 && tag.epoch == epoch.load(ordering: .acquiring)
  }

  func settle(_ tags: some Sequence<DeliveryTag>, _ kind: Settlement.Kind) -> Bool {
    settlements.add(contentsOf: tags.lazy.map { Settlement(tag: $0, kind: kind) }) == .wake
  }

  func wish(_ wish: Wish, _ granted: Latch) {
    state.withLock { state in
      state.granted.append(granted)
      if state.wish < .stopped || wish > state.wish { state.wish = wish }
    }
  }

  /// One task only.
  func next() async -> [Delivery]? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer: [Delivery]?? = state.withLock { state in
          precondition(state.waiter == nil, "only one task may wait for deliveries")
          if !state.deliveries.isEmpty { return .some(state.takeDeliveries()) }
          if state.isFinished || Task.isCancelled { return .some(nil) }
          state.waiter = continuation
          return nil
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      state.withLock { $0.waiter.take() }?.resume(returning: nil)
    }
  }

  /// No deliveries follow: `next` returns the remaining ones, then `nil`.
  func finish() {
    let waiter = state.withLock { state -> Waiter? in
      state.isFinished = true
      return state.waiter.take()
    }
    waiter?.resume(returning: nil)
  }

  // MARK: - The connection's queue

  func deliver(_ batch: [Delivery]) {
    let (waiter, deliveries) = state.withLock { state -> (Waiter?, [Delivery]) in
      state.deliveries.append(contentsOf: batch)
      guard let waiter = state.waiter.take() else { return (nil, []) }
      return (waiter, state.takeDeliveries())
    }
    waiter?.resume(returning: deliveries)
  }

  func channelOpened(_ number: UInt32) { epoch.store(number, ordering: .releasing) }
  func channelLost() { epoch.store(0, ordering: .releasing) }

  /// The broker delivers them again.
  func dropDeliveries() { state.withLock { $0.deliveries = [] } }

  func takeSettlements() -> [Settlement] { settlements.takeAll() }
  var hasSettlements: Bool { !settlements.isEmpty }
  var wish: Wish { state.withLock { $0.wish } }

  func grant(_ wish: Wish) {
    let granted = state.withLock { state -> [Latch] in
      guard state.wish == wish else { return [] }
      defer { state.granted = [] }
      return state.granted
    }
    if wish >= .stopped { finish() }
    for latch in granted { latch.open() }
  }
}

extension ConsumerInbox.State {
  fileprivate mutating func takeDeliveries() -> [Delivery] {
    defer { deliveries = [] }
    return deliveries
  }
}
