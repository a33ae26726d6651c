import CountersignAMQP
import Synchronization

@testable import Coordination

/// Takes every publication and answers as it is told.
final class FakeSink: MessageSink {
  private struct State {
    var published: [Publication] = []
    var answer: @Sendable (Publication) -> PublishOutcome = { _ in .confirmed }
    var isClosed = false
    var batchesLeft: Int?
  }

  private let state = Mutex(State())

  var published: [Publication] { state.withLock { $0.published } }

  func answer(_ answer: @escaping @Sendable (Publication) -> PublishOutcome) {
    state.withLock { $0.answer = answer }
  }

  /// From now on it is as if the process were ending.
  func close() { state.withLock { $0.isClosed = true } }

  /// It is as if the process were ending after so many more batches.
  func close(afterBatches count: Int) { state.withLock { $0.batchesLeft = count } }

  func open() {
    state.withLock { state in
      state.isClosed = false
      state.batchesLeft = nil
    }
  }

  func takePublished() -> [Publication] {
    state.withLock { state in
      defer { state.published = [] }
      return state.published
    }
  }

  func publish(_ batch: [Publication]) async throws(AMQPError) -> [PublishOutcome] {
    // What AMQP has no room for is refused as a `Publisher` refuses it: with all of its batch.
    for publication in batch { try publication.check(maxBodyBytes: CoordinatorServices.maxBodyBytes) }
    let outcomes = state.withLock { state -> [PublishOutcome]? in
      guard !state.isClosed, state.batchesLeft != 0 else { return nil }
      state.batchesLeft? -= 1
      state.published += batch
      return batch.map(state.answer)
    }
    guard let outcomes else { throw AMQPError(.closed, "the publisher was stopped") }
    return outcomes
  }
}

/// Hands out prepared batches, then ends.
final class FakeSource: DeliverySource {
  private struct State {
    var batches: [[Delivery]]
    var acked: [DeliveryTag] = []
    var rejected: [DeliveryTag] = []
  }

  private let state: Mutex<State>

  init(_ batches: [[Delivery]]) {
    state = Mutex(State(batches: batches))
  }

  var ackedCount: Int { state.withLock { $0.acked.count } }
  var rejectedCount: Int { state.withLock { $0.rejected.count } }

  func run() async {}

  func next() async -> [Delivery]? {
    state.withLock { $0.batches.isEmpty ? nil : $0.batches.removeFirst() }
  }

  func ack(_ tag: DeliveryTag) { state.withLock { $0.acked.append(tag) } }
  func reject(_ tag: DeliveryTag, requeue: Bool) { state.withLock { $0.rejected.append(tag) } }
  func stopConsuming() async {}
  func close() async {}
}
