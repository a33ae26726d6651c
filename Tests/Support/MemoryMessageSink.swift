public import CountersignAMQP
import Synchronization

/// A publisher in memory, which answers as a test tells it to, and refuses what AMQP or the broker refuses.
public final class MemoryMessageSink: MessageSink {
  public typealias Answer = @Sendable (Publication) -> PublishOutcome

  private struct State {
    var published: [Publication] = []
    var confirmed: [Publication] = []
    var tries = 0
    var answer: Answer = { _ in .confirmed }
    var pause: @Sendable () async -> Void = {}
    var error: AMQPError?
    var batchesLeft: Int?
    var lastTimeout: Duration?
    var isConnected = true
    var runner: CheckedContinuation<Void, Never>?
    var isStopped = false

    var refusal: AMQPError? {
      if isStopped || batchesLeft == 0 { return AMQPError(.closed, "the publisher was stopped") }
      return error
    }
  }

  private let state = Mutex(State())
  private let user: String
  private let maxBodyBytes: Int
  private let onEvent: @Sendable (BrokerEvent) -> Void

  public init(
    user: String, maxBodyBytes: Int = 4 << 20, onEvent: @escaping @Sendable (BrokerEvent) -> Void = { _ in }
  ) {
    self.user = user
    self.maxBodyBytes = maxBodyBytes
    self.onEvent = onEvent
  }

  /// Publications that reached the broker, whatever it answered.
  public var published: [Publication] { state.withLock { $0.published } }

  /// Publications that the broker confirmed.
  public var confirmed: [Publication] { state.withLock { $0.confirmed } }

  /// Number of calls of `publish`, including those that failed.
  public var tries: Int { state.withLock { $0.tries } }

  /// Timeout of the last call of `publish`.
  public var lastTimeout: Duration? { state.withLock { $0.lastTimeout } }

  /// Takes the publications out of ``published``.
  public func takePublished() -> [Publication] {
    state.withLock { state in
      defer { state.published = [] }
      return state.published
    }
  }

  /// Sets the broker's answer to further publications.
  public func answer(_ answer: @escaping Answer) { state.withLock { $0.answer = answer } }

  /// Suspends further batches before they reach the broker.
  public func pauseBatches(_ pause: @escaping @Sendable () async -> Void) { state.withLock { $0.pause = pause } }

  /// Fails further batches with an error. `nil` ends that.
  public func fail(_ error: AMQPError?) { state.withLock { $0.error = error } }

  /// Fails further batches as if the process were ending.
  public func close() { close(afterBatches: 0) }

  /// Fails batches as if the process were ending, after so many more have succeeded.
  public func close(afterBatches count: Int) { state.withLock { $0.batchesLeft = count } }

  /// Ends ``close()``.
  public func open() { state.withLock { $0.batchesLeft = nil } }

  /// Makes ``isReady`` false.
  public func loseConnection() { state.withLock { $0.isConnected = false } }

  public func publish(
    _ batch: [Publication], timeout: Duration?, isWanted: (@Sendable () -> Bool)?
  ) async throws(AMQPError) -> [PublishOutcome] {
    // As a `Publisher` does: a message without room in AMQP is refused together with its batch.
    for publication in batch { try publication.check(maxBodyBytes: maxBodyBytes) }
    await state.withLock { $0.pause }()
    let (outcomes, refusal) = state.withLock { state -> ([PublishOutcome], AMQPError?) in
      state.tries += 1
      state.lastTimeout = timeout
      if let refusal = state.refusal { return ([], refusal) }
      state.batchesLeft? -= 1
      return (batch.map { outcome(of: $0, &state) }, nil)
    }
    if let refusal { throw refusal }
    return outcomes
  }

  private func outcome(of publication: Publication, _ state: inout State) -> PublishOutcome {
    if let name = publication.message.userID, name != user {
      let text = "PRECONDITION_FAILED - user_id property set to '\(name)' but authenticated user was '\(user)'"
      return .returned(code: 406, text: text)
    }
    state.published.append(publication)
    let outcome = state.answer(publication)
    if outcome == .confirmed {
      state.confirmed.append(publication)
      onEvent(.published(exchange: publication.exchange, routingKey: publication.routingKey))
    }
    return outcome
  }

  public func run() async {
    await withCheckedContinuation { continuation in
      let isStopped = state.withLock { state in
        if !state.isStopped { state.runner = continuation }
        return state.isStopped
      }
      if isStopped { continuation.resume() }
    }
  }

  public func stop(ceiling: Duration) async {
    onEvent(.sinkStopped)
    let runner = state.withLock { state in
      state.isStopped = true
      defer { state.runner = nil }
      return state.runner
    }
    runner?.resume()
  }

  public var isReady: Bool { state.withLock { !$0.isStopped && $0.isConnected } }
}
