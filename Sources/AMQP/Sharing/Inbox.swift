internal import Synchronization

/// Calls on their way to the connection's queue: many calls, one wake.
final class Inbox<Ticket: Sendable>: Sendable {
  private struct State {
    var tickets: [Ticket] = []
    var isWakePending = false
    var isClosed = false
  }

  private let state = Mutex(State())
  private let owner: String

  /// - Parameter owner: who is told to have stopped.
  init(of owner: String) {
    self.owner = owner
  }

  /// - Returns: whether the queue has to be woken.
  func add(_ ticket: Ticket) throws(AMQPError) -> Bool {
    let needsWake: Bool? = state.withLock { state in
      guard !state.isClosed else { return nil }
      state.tickets.append(ticket)
      defer { state.isWakePending = true }
      return !state.isWakePending
    }
    guard let needsWake else { throw AMQPError(.closed, "the \(owner) was stopped") }
    return needsWake
  }

  func take() -> [Ticket] {
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
