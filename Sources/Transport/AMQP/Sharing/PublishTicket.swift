import CountersignConcurrency
import Synchronization

/// One call of `publish`: its publications, their outcomes, and the task that waits for them.
///
/// The wait is decided once: by the last outcome, by a failure, by cancellation or by the deadline, whichever is first.
final class PublishTicket: Sendable {
  private struct State {
    var outcomes: [PublishOutcome]
    var missing: Int
  }

  let publications: [Publication]
  private let isWanted: (@Sendable () -> Bool)?
  private let state: Mutex<State>
  private let decision = OneShot<Result<[PublishOutcome], AMQPError>>()

  init(_ publications: [Publication], isWanted: (@Sendable () -> Bool)? = nil) {
    self.publications = publications
    self.isWanted = isWanted
    state = Mutex(
      State(
        // Every element is overwritten before a caller sees it.
        outcomes: [PublishOutcome](repeating: .nacked, count: publications.count), missing: publications.count))
  }

  /// Publications that were not sent yet need not be.
  var isDecided: Bool { decision.isResolved }

  func mayBeSent() -> Bool {
    guard !isDecided else { return false }
    guard let isWanted, !isWanted() else { return true }
    fail(AMQPError(.unwanted, "the message is no longer wanted"))
    return false
  }

  func settle(_ position: Int, _ outcome: PublishOutcome) {
    let outcomes = state.withLock { state -> [PublishOutcome]? in
      state.outcomes[position] = outcome
      state.missing -= 1
      return state.missing == 0 ? state.outcomes : nil
    }
    if let outcomes { decision.resolve(.success(outcomes)) }
  }

  func fail(_ error: AMQPError) { decision.resolve(.failure(error)) }

  /// One task only.
  func wait() async throws(AMQPError) -> [PublishOutcome] {
    let result = await withTaskCancellationHandler {
      await decision.value()
    } onCancel: {
      fail(AMQPError(.canceled, "the task that published was canceled"))
    }
    return try result.get()
  }
}
