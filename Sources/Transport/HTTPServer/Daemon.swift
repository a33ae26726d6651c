import CMicroHTTPD
import Glibc
import Synchronization

/// Callbacks of libmicrohttpd's thread: collect requests, run the handler, send replies.
final class Daemon: Sendable {
  private struct State {
    /// Requests that were given to the handler and are not answered completely. A task is missing for the moment
    /// between the suspend and the start of the task.
    var running: [ObjectIdentifier: (exchange: Exchange, task: Task<Void, Never>?)] = [:]
    var isStopping = false
    var isCancelled = false
    /// Whether every request that was running when it was canceled has its end.
    var isClosed = false
    var onIdle: [CheckedContinuation<Void, Never>] = []
  }

  let maxBodyBytes: Int
  let longBodies: HTTPServerLimits.LongBodies?
  private let openLongBodies = Mutex(0)
  private let handler: @Sendable (HTTPServerRequest) async -> HTTPServerReply
  private let state = Mutex(State())
  let connections: ConnectionTable
  private let isProxy: @Sendable (String) -> Bool
  private let turnedAway: @Sendable (HTTPServerTurnedAway) -> Void
  let refusal: @Sendable (HTTPServerRequest, HTTPServerRefusal) -> HTTPServerResponse

  init(
    maxBodyBytes: Int, longBodies: HTTPServerLimits.LongBodies?, connections: ConnectionTable,
    isProxy: @escaping @Sendable (String) -> Bool,
    turnedAway: @escaping @Sendable (HTTPServerTurnedAway) -> Void,
    refusal: @escaping @Sendable (HTTPServerRequest, HTTPServerRefusal) -> HTTPServerResponse,
    handler: @escaping @Sendable (HTTPServerRequest) async -> HTTPServerReply
  ) {
    self.maxBodyBytes = maxBodyBytes
    self.longBodies = longBodies
    self.connections = connections
    self.isProxy = isProxy
    self.turnedAway = turnedAway
    self.refusal = refusal
    self.handler = handler
  }

  /// Daemon's thread.
  func accepts(_ address: UnsafePointer<sockaddr>?) -> Bool {
    let accepts = connections.accepts(ClientKey(address)) || isProxy(address.map(NumericHost.text) ?? "")
    if !accepts { turnedAway(.client) }
    return accepts
  }

  /// Any thread.
  func endLate() {
    connections.endLate { descriptor in
      // Before the client can see its end.
      turnedAway(.late)
      shutdown(descriptor, Int32(SHUT_RDWR))
    }
  }

  /// Daemon's thread: takes one of the places of long bodies, until the request ends.
  func takeLongBody(_ exchange: Exchange, maxBytes: Int) -> Bool {
    let isTaken = openLongBodies.withLock { open in
      guard let longBodies, open < longBodies.atOnce else { return false }
      open += 1
      return true
    }
    if isTaken { exchange.longBodyBytes = maxBytes }
    return isTaken
  }

  /// Daemon's thread: a request is complete. Its connection sleeps until the handler has replied.
  func begin(_ exchange: Exchange, method: String) {
    let request = exchange.request(method: method)
    let id = ObjectIdentifier(exchange)
    let accepted = state.withLock { state in
      guard !state.isStopping else { return false }
      exchange.suspend()
      state.running[id] = (exchange, nil)
      return true
    }
    guard accepted else { return }
    connections.handles(ConnectionTable.ID(exchange.connection))
    // Unstructured, since it starts in a C callback; `stop` cancels it when its grace is over.
    let task = Task { [handler] in exchange.complete(await handler(request)) }
    let isLate = state.withLock { state in
      state.running[id]?.task = task
      return state.isCancelled
    }
    if isLate { task.cancel() }
  }

  /// Daemon's thread.
  func end(_ exchange: Exchange) {
    if exchange.longBodyBytes != nil { openLongBodies.withLock { $0 -= 1 } }
    let idle = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      state.running[ObjectIdentifier(exchange)] = nil
      guard state.running.isEmpty else { return [] }
      defer { state.onIdle = [] }
      return state.onIdle
    }
    for waiter in idle { waiter.resume() }
  }

  /// Refuses requests from now on, and suspends until every begun one is answered or `cancelAll` was called.
  func drain() async {
    await withCheckedContinuation { continuation in
      let isIdle = state.withLock { state in
        state.isStopping = true
        if state.running.isEmpty || state.isClosed { return true }
        state.onIdle.append(continuation)
        return false
      }
      if isIdle { continuation.resume() }
    }
  }

  /// Their connections are closed without waiting for them.
  func cancelAll() {
    let running = state.withLock { state in
      state.isStopping = true
      state.isCancelled = true
      return Array(state.running.values)
    }
    for (exchange, task) in running {
      task?.cancel()
      exchange.complete(.close)
    }
    // Only now: libmicrohttpd aborts the process when it is stopped while a connection is suspended.
    let idle = state.withLock { state in
      state.isClosed = true
      defer { state.onIdle = [] }
      return state.onIdle
    }
    for waiter in idle { waiter.resume() }
  }
}
