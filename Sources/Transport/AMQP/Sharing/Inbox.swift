internal import Synchronization

/// A call on its way to the connection's queue.
protocol InboxTicket: Sendable {
  /// Whether nobody waits for it any more.
  var isDecided: Bool { get }
}

extension PublishTicket: InboxTicket {}
extension RequestTicket: InboxTicket {}

/// Calls on their way to the connection's queue: many calls, one wake.
///
/// Without a broker nobody takes them, for hours perhaps, and callers give up and come again. So those that nobody waits for are dropped
/// now and then: never more than 1,024, or as many as somebody waits for, are kept of them.
final class Inbox<Ticket: InboxTicket>: Sendable {
  private struct State {
    var tickets: [Ticket] = []
    /// With so many tickets the next call drops those that nobody waits for.
    var dropsAt = Inbox.leastBeforeDrop
    var isWakePending = false
    var isClosed = false
  }

  /// Fewer are not worth a look.
  private static var leastBeforeDrop: Int { 1_024 }

  private let state = Mutex(State())
  private let owner: String
  private let wakeCount: Int

  /// - Parameters:
  ///   - owner: who is told to have stopped.
  ///   - wakeCount: the queue is woken again when so many wait.
  init(of owner: String, wakeCount: Int = .max) {
    self.owner = owner
    self.wakeCount = wakeCount
  }

  /// - Returns: whether the queue has to be woken.
  func add(_ ticket: Ticket) throws(AMQPError) -> Bool {
    let needsWake: Bool? = state.withLock { state in
      guard !state.isClosed else { return nil }
      if state.tickets.count >= state.dropsAt {
        state.tickets.removeAll(where: \.isDecided)
        state.dropsAt = max(Self.leastBeforeDrop, 2 * state.tickets.count)
      }
      state.tickets.append(ticket)
      defer { state.isWakePending = true }
      return !state.isWakePending || state.tickets.count == wakeCount
    }
    guard let needsWake else { throw AMQPError(.closed, "the \(owner) was stopped") }
    return needsWake
  }

  func take() -> [Ticket] {
    state.withLock { state in
      state.isWakePending = false
      state.dropsAt = Self.leastBeforeDrop
      defer { state.tickets = [] }
      return state.tickets
    }
  }

  var isEmpty: Bool { count == 0 }
  var count: Int { state.withLock { $0.tickets.count } }
  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// From now on `add` throws.
  func close() { state.withLock { $0.isClosed = true } }
}
