import CountersignTelemetry
import HTTPClient
import JobEngine
import Synchronization

/// Each is a client alone so that it can be given up alone.
final class ConnectionPool: Sendable {
  struct Lease: Sendable {
    let id: Int
    let connection: any HTTPCaller
  }

  private struct State {
    var selector: ConnectionSelector
    var connections: [Int: any HTTPCaller] = [:]
    var givenUp = 0
    var isClosed = false
  }

  private let state: Mutex<State>
  private let open: @Sendable () throws(TransportError) -> any HTTPCaller

  init(_ selector: ConnectionSelector, open: @escaping @Sendable () throws(TransportError) -> any HTTPCaller) {
    state = Mutex(State(selector: selector))
    self.open = open
  }

  var givenUp: Int { state.withLock { $0.givenUp } }

  var count: Int { state.withLock { $0.connections.count } }

  /// Each lease is given back once.
  func take() throws(TransportError) -> Lease {
    try state.withLock { state throws(TransportError) in
      guard !state.isClosed else { throw Self.closed }
      let (id, isNew) = state.selector.take()
      if !isNew, let connection = state.connections[id] { return Lease(id: id, connection: connection) }
      do throws(TransportError) {
        let connection = try open()
        state.connections[id] = connection
        return Lease(id: id, connection: connection)
      } catch {
        _ = state.selector.give(back: id, .useless, now: MonotonicTime(nanoseconds: 0))
        throw error
      }
    }
  }

  func give(back lease: Lease, _ report: ConnectionSelector.Report, now: MonotonicTime) async {
    let isGivenUp = state.withLock { state in
      guard state.selector.give(back: lease.id, report, now: now) else { return false }
      state.connections[lease.id] = nil
      state.givenUp += 1
      return true
    }
    // Pushes behind a silent one fail at once, and are sent again on another connection. Where APNs still answers, the
    // connection closes with its last push instead, when its last lease is released.
    if isGivenUp, case .silent = report { await lease.connection.shutdown() }
  }

  /// Pushes in flight on them continue.
  func replaceAll() {
    state.withLock { state in
      state.givenUp += state.connections.count
      state.selector.giveUpAll()
      state.connections.removeAll()
    }
  }

  func shutdown() async {
    let connections = state.withLock { state in
      state.isClosed = true
      state.selector.giveUpAll()
      defer { state.connections.removeAll() }
      return Array(state.connections.values)
    }
    for connection in connections { await connection.shutdown() }
  }

  private static let closed = TransportError(
    kind: .closed, requestMayHaveLeft: false, description: "the connections to APNs are closed")
}
