internal import Synchronization

/// Requests on their way to the connection's queue.
final class RequestInbox: Sendable {
  private struct State {
    var tickets: [RequestTicket] = []
    var isWakePending = false
    var isClosed = false
  }

  private let state = Mutex(State())

  /// - Returns: whether the queue has to be woken.
  func add(_ ticket: RequestTicket) throws(AMQPError) -> Bool {
    let needsWake: Bool? = state.withLock { state in
      guard !state.isClosed else { return nil }
      state.tickets.append(ticket)
      defer { state.isWakePending = true }
      return !state.isWakePending
    }
    guard let needsWake else { throw AMQPError(.closed, "the request client was stopped") }
    return needsWake
  }

  func take() -> [RequestTicket] {
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
