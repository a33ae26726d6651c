public import Synchronization

/// Bodies that wait for one of several connections: a lock, a bound, and one wake-up for many.
///
/// Not an ``Inbox``: there are several consumers, each of which sleeps and is woken by itself, and a consumer takes a
/// part.
public final class WorkQueue<Body: Sendable>: Sendable {
  public enum Admission: Sendable {
    /// It waits. The connection with this number sleeps and must be woken, if there is one.
    case waiting(wake: Int?)
    case full
    case closed
  }

  @usableFromInline struct State: Sendable {
    @usableFromInline var waiting: [Body] = []
    /// Bodies that wait here or were taken and have not run.
    @usableFromInline var count = 0
    @usableFromInline var idle: [Int]
    @usableFromInline var isClosed = false

    @inlinable init(idle: [Int]) { self.idle = idle }
  }

  @usableFromInline let limit: Int
  @usableFromInline let state: Mutex<State>

  /// - Parameters:
  ///   - connections: number of connections, which are numbered from 0 and sleep at first.
  ///   - limit: maximum number of bodies that wait or were taken and have not run.
  public init(connections: Int, limit: Int) {
    self.limit = limit
    self.state = Mutex(State(idle: Array((0..<connections).reversed())))
  }

  @inlinable public func append(_ body: Body) -> Admission {
    state.withLock { state in
      if state.isClosed { return .closed }
      if state.count >= limit { return .full }
      state.waiting.append(body)
      state.count += 1
      return .waiting(wake: state.idle.popLast())
    }
  }

  /// Takes up to `limit` waiting bodies, or lets the connection sleep if there are none.
  @inlinable public func take(_ limit: Int, for connection: Int) -> [Body] {
    state.withLock { state in
      guard !state.waiting.isEmpty else {
        state.idle.append(connection)
        return []
      }
      guard state.waiting.count > limit else {
        let all = state.waiting
        state.waiting = []
        state.waiting.reserveCapacity(min(all.count, 256))
        return all
      }
      let some = Array(state.waiting.prefix(limit))
      state.waiting.removeFirst(limit)
      return some
    }
  }

  /// Takes all that waits.
  @inlinable public func takeAll() -> [Body] {
    state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
  }

  /// Taken bodies have run.
  @inlinable public func finish(_ count: Int) {
    state.withLock { $0.count -= count }
  }

  /// Refuses further bodies. Waiting ones can still be taken.
  public func close() {
    state.withLock { $0.isClosed = true }
  }

  public var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Number of bodies that wait or were taken and have not run.
  public var count: Int { state.withLock { $0.count } }
}
