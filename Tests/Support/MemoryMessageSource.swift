public import CountersignAMQP
import Synchronization

/// A consumer in memory: a test delivers messages, and sees how they are settled.
public final class MemoryMessageSource: MessageSource {
  private struct State {
    var batches: [[Delivery]] = []
    /// Deliveries that ``next()`` takes together once the batches are used up.
    var queued: [Delivery] = []
    /// Numbers of the deliveries whose channel is still open.
    var live: [DeliveryTag: UInt64] = [:]
    var lastNumber: UInt64 = 0
    var acked: [DeliveryTag] = []
    var rejected: [DeliveryTag] = []
    var waiter: CheckedContinuation<[Delivery]?, Never>?
    var runner: CheckedContinuation<Void, Never>?
    var isStopped = false
    var isClosed = false

    mutating func tagged(_ delivery: Delivery) -> Delivery {
      lastNumber += 1
      var delivery = delivery
      delivery.tag = DeliveryTag(number: lastNumber)
      live[delivery.tag] = lastNumber
      return delivery
    }
  }

  private let state = Mutex(State())
  private let onEvent: @Sendable (BrokerEvent) -> Void

  /// A source that waits for deliveries until it is stopped.
  public init(onEvent: @escaping @Sendable (BrokerEvent) -> Void = { _ in }) {
    self.onEvent = onEvent
  }

  /// A source that hands out the batches, each with new tags, and ends.
  public convenience init(_ batches: [[Delivery]]) {
    self.init()
    state.withLock { state in
      state.batches = batches.map { batch in batch.map { state.tagged($0) } }
      state.isStopped = true
    }
  }

  /// Number of live deliveries that were acknowledged.
  public var ackedCount: Int { state.withLock { $0.acked.count } }
  /// Number of live deliveries that were rejected.
  public var rejectedCount: Int { state.withLock { $0.rejected.count } }

  /// Delivers a message under a new tag.
  /// - Returns: the number in the events of its settlement.
  @discardableResult
  public func deliver(_ delivery: Delivery) -> UInt64 {
    let (number, waiter, batch) = state.withLock { state in
      state.queued.append(state.tagged(delivery))
      defer {
        if state.waiter != nil { state.queued = [] }
        state.waiter = nil
      }
      return (state.lastNumber, state.waiter, state.queued)
    }
    waiter?.resume(returning: batch)
    return number
  }

  /// Loses the connection and makes a new one: earlier deliveries can no longer be settled.
  public func loseConnection() { state.withLock { $0.live = [:] } }

  public func run() async {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        let isOver = state.isClosed
        if !isOver { state.runner = continuation }
        return isOver
      }
      if isOver { continuation.resume() }
    }
  }

  public func next() async -> [Delivery]? {
    await withCheckedContinuation { continuation in
      let answer: [Delivery]?? = state.withLock { state in
        if !state.batches.isEmpty { return .some(state.batches.removeFirst()) }
        if !state.queued.isEmpty {
          defer { state.queued = [] }
          return .some(state.queued)
        }
        if state.isStopped { return .some(nil) }
        state.waiter = continuation
        return nil
      }
      if let answer { continuation.resume(returning: answer) }
    }
  }

  public func ack(_ tag: DeliveryTag) {
    guard let number = state.withLock({ $0.live[tag] }) else { return }
    state.withLock { $0.acked.append(tag) }
    onEvent(.acked(number))
  }

  public func reject(_ tag: DeliveryTag, requeue: Bool) {
    guard let number = state.withLock({ $0.live[tag] }) else { return }
    state.withLock { $0.rejected.append(tag) }
    onEvent(.rejected(number, requeue: requeue))
  }

  public func isLive(_ tag: DeliveryTag) -> Bool { state.withLock { $0.live[tag] != nil } }

  public func pause() async { onEvent(.paused) }

  public func resume() async { onEvent(.resumed) }

  public func resumeOneByOne() async { onEvent(.resumedOneByOne) }

  public func stopConsuming() async {
    onEvent(.stoppedConsuming)
    let waiter = state.withLock { state in
      state.isStopped = true
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume(returning: nil)
  }

  public func close() async {
    onEvent(.sourceClosed)
    let runner = state.withLock { state in
      state.isClosed = true
      defer { state.runner = nil }
      return state.runner
    }
    runner?.resume()
  }

  public var isReady: Bool { state.withLock { !$0.isClosed } }
}

/// Something that a source or a sink in memory was asked to do.
public enum BrokerEvent: Sendable, Hashable {
  /// A publication was confirmed.
  case published(exchange: String, routingKey: String)
  case acked(UInt64)
  case rejected(UInt64, requeue: Bool)
  case paused
  case resumed
  case resumedOneByOne
  case stoppedConsuming
  case sinkStopped
  case sourceClosed
}
