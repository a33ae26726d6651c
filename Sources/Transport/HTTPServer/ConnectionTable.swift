import CMicroHTTPD
import Synchronization

/// Open connections: how many each client has, and which have kept the server waiting for too long.
///
/// libmicrohttpd bounds silence, which a byte a minute avoids. This bounds the arrival of a request and the taking of
/// its answer. A request line is reported only when it is whole, so ``endLate(at:_:)`` asks the kernel for what has
/// arrived.
final class ConnectionTable: Sendable {
  struct ID: Sendable, Hashable {
    let address: UInt

    init(_ pointer: OpaquePointer) { address = UInt(bitPattern: pointer) }
    init(_ address: UInt) { self.address = address }
  }

  private enum Phase {
    /// Nothing is owed: no byte has come since so many were received.
    case idle(received: UInt64)
    /// Start of the client's current duty: to send a whole request, or to receive an answer.
    case waiting(since: ContinuousClock.Instant)
    /// The handler works, or the connection has been ended and is not yet closed.
    case busy
  }

  private struct Entry {
    let client: ClientKey
    let descriptor: Int32
    var phase = Phase.idle(received: 0)
  }

  private struct State {
    var entries: [ID: Entry] = [:]
    var counts: [ClientKey: Int] = [:]
  }

  private let state = Mutex(State())
  private let maxPerClient: Int?
  private let requestTime: Duration?
  private let received: @Sendable (Int32) -> UInt64

  init(
    maxPerClient: Int?, requestTime: Duration?, received: @escaping @Sendable (Int32) -> UInt64 = { cms_received($0) }
  ) {
    self.maxPerClient = maxPerClient
    self.requestTime = requestTime
    self.received = received
  }

  func accepts(_ client: ClientKey) -> Bool {
    guard let maxPerClient else { return true }
    return state.withLock { $0.counts[client, default: 0] < maxPerClient }
  }

  func opened(_ id: ID, _ client: ClientKey, descriptor: Int32) {
    state.withLock { state in
      state.entries[id] = Entry(client: client, descriptor: descriptor)
      state.counts[client, default: 0] += 1
    }
  }

  /// A request line has come: the rest of the request is waited for, from its first byte if that was seen before.
  func begins(_ id: ID, at now: ContinuousClock.Instant = .now) {
    state.withLock { state in
      guard case .idle = state.entries[id]?.phase else { return }
      state.entries[id]?.phase = .waiting(since: now)
    }
  }

  /// The client is waited for from now on, to take an answer.
  func waits(_ id: ID, at now: ContinuousClock.Instant = .now) {
    state.withLock { $0.entries[id]?.phase = .waiting(since: now) }
  }

  /// The handler has the request: the client waits for us.
  func handles(_ id: ID) {
    state.withLock { $0.entries[id]?.phase = .busy }
  }

  /// The request is over. Neither side waits.
  func rests(_ id: ID) {
    state.withLock { state in
      guard let descriptor = state.entries[id]?.descriptor else { return }
      state.entries[id]?.phase = .idle(received: received(descriptor))
    }
  }

  /// To be called before the descriptor is closed, so that ``endLate(at:_:)`` never meets another connection's.
  func closed(_ id: ID) {
    state.withLock { state in
      guard let entry = state.entries.removeValue(forKey: id) else { return }
      let left = state.counts[entry.client, default: 1] - 1
      state.counts[entry.client] = left > 0 ? left : nil
    }
  }

  /// Ends the connections that have kept us waiting for too long. To be called about once a second, so that it notices
  /// in time that a request has begun.
  @discardableResult
  func endLate(at now: ContinuousClock.Instant = .now, _ end: (Int32) -> Void) -> Int {
    guard let requestTime else { return 0 }
    return state.withLock { state in
      var count = 0
      for (id, entry) in state.entries {
        switch entry.phase {
        case .idle(let before) where received(entry.descriptor) > before:
          state.entries[id]?.phase = .waiting(since: now)
        case .waiting(let since) where now - since >= requestTime:
          end(entry.descriptor)
          // Once only; libmicrohttpd closes it.
          state.entries[id]?.phase = .busy
          count += 1
        default: break
        }
      }
      return count
    }
  }
}
