import Synchronization

@testable import CountersignAMQP
@testable import JobEngine

/// A consumer in memory.
final class FakeSource: JobSource {
  private struct State {
    var queued: [Delivery] = []
    var waiter: CheckedContinuation<[Delivery]?, Never>?
    var runner: CheckedContinuation<Void, Never>?
    var isStopped = false
    var isClosed = false
    var lastNumber: UInt64 = 0
    var epoch: UInt32 = 1
  }

  private let state = Mutex(State())
  private let journal: Journal

  init(_ journal: Journal) {
    self.journal = journal
  }

  /// Delivers a message.
  /// - Returns: The number of its tag.
  @discardableResult
  func deliver(_ message: Message, isRedelivered: Bool = false, isOversize: Bool = false) -> UInt64 {
    let (number, waiter, batch) = state.withLock { state in
      state.lastNumber += 1
      state.queued.append(
        Delivery(
          message: message, tag: DeliveryTag(epoch: state.epoch, number: state.lastNumber),
          isRedelivered: isRedelivered,
          exchange: "countersign.jobs", routingKey: "test.job", isOversize: isOversize))
      defer {
        if state.waiter != nil { state.queued = [] }
        state.waiter = nil
      }
      return (state.lastNumber, state.waiter, state.queued)
    }
    waiter?.resume(returning: batch)
    return number
  }

  func run() async {
    await withCheckedContinuation { continuation in
      let isClosed = state.withLock { state in
        if !state.isClosed { state.runner = continuation }
        return state.isClosed
      }
      if isClosed { continuation.resume() }
    }
  }

  func next() async -> [Delivery]? {
    await withCheckedContinuation { continuation in
      let answer: [Delivery]?? = state.withLock { state in
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

  /// The connection is lost and made anew: what was delivered on it can be settled no more.
  func loseConnection() { state.withLock { $0.epoch += 1 } }

  func isLive(_ tag: DeliveryTag) -> Bool { state.withLock { tag.epoch == $0.epoch } }

  func ack(_ tag: DeliveryTag) { if isLive(tag) { journal.add(.acked(tag.number)) } }

  func reject(_ tag: DeliveryTag, requeue: Bool) {
    if isLive(tag) { journal.add(.rejected(tag.number, requeue: requeue)) }
  }

  func pause() async { journal.add(.paused) }

  func resume() async { journal.add(.resumed) }

  func resumeOneByOne() async { journal.add(.resumedOneByOne) }

  func stopConsuming() async {
    journal.add(.stoppedConsuming)
    let waiter = state.withLock { state in
      state.isStopped = true
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume(returning: nil)
  }

  func close() async {
    journal.add(.sourceClosed)
    let runner = state.withLock { state in
      state.isClosed = true
      defer { state.runner = nil }
      return state.runner
    }
    runner?.resume()
  }

  var isReady: Bool { state.withLock { !$0.isClosed } }
}
