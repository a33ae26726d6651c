import CountersignTelemetry
import HTTPClient
import JobEngine
import Synchronization

/// One connection to APNs. `HTTPClient` is the one that ships: a transport for each connection, so that one can be given up by itself.
protocol PushConnection: HTTPCaller {
  /// Ends what is under way, with an error, and closes the connection.
  func shutdown() async
}

extension HTTPClient: PushConnection {}

/// The connections of a lane.
final class ConnectionPool: Sendable {
  /// A connection on loan for one push.
  struct Lease: Sendable {
    let id: Int
    let connection: any PushConnection
  }

  private struct State {
    var book: ConnectionBook
    var connections: [Int: any PushConnection] = [:]
    var givenUp = 0
    var isClosed = false
  }

  private let state: Mutex<State>
  private let open: @Sendable () throws(TransportError) -> any PushConnection

  /// - Parameters:
  ///   - book: How many connections, and how many pushes on each.
  ///   - open: Makes a connection; it connects when it is used.
  init(_ book: ConnectionBook, open: @escaping @Sendable () throws(TransportError) -> any PushConnection) {
    state = Mutex(State(book: book))
    self.open = open
  }

  /// How many connections were given up, for metrics.
  var givenUp: Int { state.withLock { $0.givenUp } }

  /// How many connections there are, for metrics.
  var count: Int { state.withLock { $0.connections.count } }

  /// Lends a connection. Each lease is given back once.
  func take() throws(TransportError) -> Lease {
    let result: Result<Lease, TransportError> = state.withLock { state in
      guard !state.isClosed else { return .failure(Self.closed) }
      let (id, isNew) = state.book.take()
      if !isNew, let connection = state.connections[id] { return .success(Lease(id: id, connection: connection)) }
      do throws(TransportError) {
        let connection = try open()
        state.connections[id] = connection
        return .success(Lease(id: id, connection: connection))
      } catch {
        _ = state.book.give(back: id, .useless, now: MonotonicTime(nanoseconds: 0))
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Takes a connection back, with what its push says about it.
  func give(back lease: Lease, _ report: ConnectionBook.Report, now: MonotonicTime) async {
    let isGivenUp = state.withLock { state in
      guard state.book.give(back: lease.id, report, now: now) else { return false }
      state.connections[lease.id] = nil
      state.givenUp += 1
      return true
    }
    // What waits behind a silent push fails at once then, and is sent again on another connection. Where APNs still answers, the
    // connection closes with its last push instead, when nobody has it any more.
    if isGivenUp, case .silent = report { await lease.connection.shutdown() }
  }

  /// Gives up all connections; what is under way on them goes on.
  func replaceAll() {
    state.withLock { state in
      state.givenUp += state.connections.count
      state.book.giveUpAll()
      state.connections.removeAll()
    }
  }

  /// Closes all connections, and refuses to open further ones.
  func shutdown() async {
    let connections = state.withLock { state in
      state.isClosed = true
      state.book.giveUpAll()
      defer { state.connections.removeAll() }
      return Array(state.connections.values)
    }
    for connection in connections { await connection.shutdown() }
  }

  private static let closed = TransportError(
    kind: .closed, requestMayHaveLeft: false, description: "the connections to APNs are closed")
}
