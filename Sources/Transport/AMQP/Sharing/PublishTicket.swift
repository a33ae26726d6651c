internal import Synchronization

/// One call of `publish`: its publications, what became of them, and the task that waits.
///
/// The wait is decided once: by the last outcome, by a failure, by cancellation or by the deadline, whichever is first.
final class PublishTicket: Sendable {
  private typealias Decision = Result<[PublishOutcome], AMQPError>

  private struct State {
    var outcomes: [PublishOutcome]
    var missing: Int
    var result: Decision?
    var waiter: CheckedContinuation<Decision, Never>?
  }

  let publications: [Publication]
  private let isWanted: (@Sendable () -> Bool)?
  private let state: Mutex<State>

  /// - Parameter isWanted: asked before anything is sent.
  init(_ publications: [Publication], isWanted: (@Sendable () -> Bool)? = nil) {
    self.publications = publications
    self.isWanted = isWanted
    state = Mutex(
      State(
        // Every element is overwritten before anybody sees it.
        outcomes: [PublishOutcome](repeating: .nacked, count: publications.count), missing: publications.count))
  }

  /// Whether nobody waits any more; what was not sent yet need not be.
  var isDecided: Bool { state.withLock { $0.result != nil } }

  /// Whether to send what is left: somebody waits, and wants it.
  func mayBeSent() -> Bool {
    guard !isDecided else { return false }
    guard let isWanted, !isWanted() else { return true }
    fail(AMQPError(.unwanted, "the message is wanted no more"))
    return false
  }

  /// - Parameter position: of a publication that has no outcome yet.
  func settle(_ position: Int, _ outcome: PublishOutcome) {
    decide { state in
      state.outcomes[position] = outcome
      state.missing -= 1
      return state.missing == 0 ? .success(state.outcomes) : nil
    }
  }

  func fail(_ error: AMQPError) {
    decide { _ in .failure(error) }
  }

  /// Waits for the decision. One task only.
  func wait() async throws(AMQPError) -> [PublishOutcome] {
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let result = state.withLock { state in
          if state.result == nil { state.waiter = continuation }
          return state.result
        }
        if let result { continuation.resume(returning: result) }
      }
    } onCancel: {
      fail(AMQPError(.cancelled, "the task that published was cancelled"))
    }
    return try result.get()
  }

  private func decide(_ body: (inout State) -> Decision?) {
    let decided = state.withLock { state -> (CheckedContinuation<Decision, Never>, Decision)? in
      guard state.result == nil, let result = body(&state) else { return nil }
      state.result = result
      return state.waiter.take().map { ($0, result) }
    }
    if let (waiter, result) = decided { waiter.resume(returning: result) }
  }
}
