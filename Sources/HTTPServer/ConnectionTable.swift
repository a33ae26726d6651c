import Synchronization

/// Open connections: how many each client has, and which have kept the server waiting for too long.
///
/// libmicrohttpd bounds how long a connection is silent, which a byte a minute satisfies. This bounds how long a request may take to
/// arrive and its answer to be taken, whatever comes meanwhile; the time of the handler is not counted.
final class ConnectionTable: Sendable {
  /// A connection's place in the table.
  struct ID: Sendable, Hashable {
    let address: UInt

    init(_ pointer: OpaquePointer) { address = UInt(bitPattern: pointer) }
    init(_ address: UInt) { self.address = address }
  }

  private struct Entry {
    let client: ClientKey
    let descriptor: Int32
    /// When what the client owes us began: a whole request, or the taking of an answer. `nil` while the handler works.
    var waitingSince: ContinuousClock.Instant?
  }

  private struct State {
    var entries: [ID: Entry] = [:]
    var counts: [ClientKey: Int] = [:]
  }

  private let state = Mutex(State())
  private let maxPerClient: Int?
  private let requestTime: Duration?

  init(maxPerClient: Int?, requestTime: Duration?) {
    self.maxPerClient = maxPerClient
    self.requestTime = requestTime
  }

  /// Whether a client may open one more connection.
  func accepts(_ client: ClientKey) -> Bool {
    guard let maxPerClient else { return true }
    return state.withLock { $0.counts[client, default: 0] < maxPerClient }
  }

  func opened(_ id: ID, _ client: ClientKey, descriptor: Int32, at now: ContinuousClock.Instant = .now) {
    state.withLock { state in
      state.entries[id] = Entry(client: client, descriptor: descriptor, waitingSince: now)
      state.counts[client, default: 0] += 1
    }
  }

  /// The client is waited for from now on: for a request, or for an answer to be taken.
  func waits(_ id: ID, at now: ContinuousClock.Instant = .now) {
    state.withLock { $0.entries[id]?.waitingSince = now }
  }

  /// The handler has the request: the client waits for us.
  func handles(_ id: ID) {
    state.withLock { $0.entries[id]?.waitingSince = nil }
  }

  /// To be called before the descriptor is closed, so that ``endLate(at:_:)`` never meets another connection's.
  func closed(_ id: ID) {
    state.withLock { state in
      guard let entry = state.entries.removeValue(forKey: id) else { return }
      let left = state.counts[entry.client, default: 1] - 1
      state.counts[entry.client] = left > 0 ? left : nil
    }
  }

  /// Ends the connections that have kept us waiting for too long.
  /// - Parameter end: Ends the connection of a descriptor; called under the lock, so that none is closed meanwhile.
  /// - Returns: How many there were.
  @discardableResult
  func endLate(at now: ContinuousClock.Instant = .now, _ end: (Int32) -> Void) -> Int {
    guard let requestTime else { return 0 }
    return state.withLock { state in
      var count = 0
      for (id, entry) in state.entries {
        guard let since = entry.waitingSince, now - since >= requestTime else { continue }
        end(entry.descriptor)
        // Not twice; what libmicrohttpd still does with it is to close it.
        state.entries[id]?.waitingSince = nil
        count += 1
      }
      return count
    }
  }
}
