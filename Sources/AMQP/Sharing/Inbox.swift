internal import Synchronization

/// Calls of `publish` on their way to the connection's queue: many calls, one wake.
final class PublishInbox: Sendable {
  private struct State {
    var tickets: [PublishTicket] = []
    var isWakePending = false
    var isClosed = false
  }

  private let state = Mutex(State())

  /// - Returns: whether the queue has to be woken.
  func add(_ ticket: PublishTicket) throws(AMQPError) -> Bool {
    let needsWake: Bool? = state.withLock { state in
      guard !state.isClosed else { return nil }
      state.tickets.append(ticket)
      defer { state.isWakePending = true }
      return !state.isWakePending
    }
    guard let needsWake else { throw AMQPError(.closed, "the publisher was stopped") }
    return needsWake
  }

  func take() -> [PublishTicket] {
    state.withLock { state in
      state.isWakePending = false
      defer { state.tickets = [] }
      return state.tickets
    }
  }

  var isEmpty: Bool { state.withLock { $0.tickets.isEmpty } }

  /// From now on `add` throws.
  func close() { state.withLock { $0.isClosed = true } }
}
