import CountersignAMQP
import Synchronization

@testable import JobEngine

/// A publisher in memory, which answers as a test tells it to.
final class FakeSink: JobSink {
  typealias Answer = @Sendable (Publication) -> PublishOutcome

  private struct State {
    var confirmed: [Publication] = []
    var tries = 0
    var answer: Answer = { _ in .confirmed }
    var error: AMQPError?
    var runner: CheckedContinuation<Void, Never>?
    var isStopped = false
  }

  private let state = Mutex(State())
  private let journal: Journal

  init(_ journal: Journal) {
    self.journal = journal
  }

  /// What the broker took.
  var confirmed: [Publication] { state.withLock { $0.confirmed } }

  /// How often something was published, also in vain.
  var tries: Int { state.withLock { $0.tries } }

  func answer(_ answer: @escaping Answer) { state.withLock { $0.answer = answer } }

  func fail(_ error: AMQPError?) { state.withLock { $0.error = error } }

  func publish(
    _ batch: [Publication], timeout: Duration?, isWanted: (@Sendable () -> Bool)?
  ) async throws(AMQPError) -> [PublishOutcome] {
    // As a `Publisher` does: what AMQP has no room for is refused with all of its batch.
    for publication in batch { try publication.check(maxBodyBytes: 4 << 20) }
    let result: Result<[PublishOutcome], AMQPError> = state.withLock { state in
      state.tries += 1
      if state.isStopped { return .failure(AMQPError(.closed, "stopped")) }
      if let error = state.error { return .failure(error) }
      let outcomes = batch.map(state.answer)
      for (publication, outcome) in zip(batch, outcomes) where outcome == .confirmed {
        state.confirmed.append(publication)
        journal.add(.published(exchange: publication.exchange, routingKey: publication.routingKey))
      }
      return .success(outcomes)
    }
    return try result.get()
  }

  func run() async {
    await withCheckedContinuation { continuation in
      let isStopped = state.withLock { state in
        if !state.isStopped { state.runner = continuation }
        return state.isStopped
      }
      if isStopped { continuation.resume() }
    }
  }

  func stop() async {
    journal.add(.sinkStopped)
    let runner = state.withLock { state in
      state.isStopped = true
      defer { state.runner = nil }
      return state.runner
    }
    runner?.resume()
  }

  var isReady: Bool { state.withLock { !$0.isStopped } }
}
