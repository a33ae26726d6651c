import Curl
import Synchronization

/// Submits mail to one server: a few connections, each used for one message after another.
///
/// libcurl waits for the reply to the final dot without giving its thread back, also through its multi interface. So
/// every connection has a serial queue of its own, and its thread while it is used.
public final class SMTPClient: Sendable {
  private struct State {
    /// The one that was used last comes first, so that those that are not needed grow old.
    var idle: [SMTPSession] = []
    var open = 0
    var waiting: [(id: UInt64, continuation: CheckedContinuation<SMTPSession?, Never>)] = []
    var nextID: UInt64 = 0
    var isClosed = false
  }

  private let configuration: SMTPConfiguration
  private let state = Mutex(State())

  /// Makes a client. Connections are opened when they are needed.
  ///
  /// - Throws: `SMTPFailure` when the file of certificates cannot be read, or libcurl is unusable.
  public init(_ configuration: SMTPConfiguration) throws(SMTPFailure) {
    do {
      try CurlSetUp.prepare(reading: configuration.caFile)
    } catch {
      throw SMTPFailure(error)
    }
    self.configuration = configuration
  }

  /// Submits a message, and suspends until the server has answered. Canceling the task ends it within a second.
  ///
  /// A connection that was found closed before anything was said on it is replaced, once.
  ///
  /// - Parameters:
  ///   - message: envelope and content.
  ///   - timeout: maximum time for all of it, the wait for a connection that others use included. Nothing begins after
  ///     that; only the end of a wait that is longer by itself is not hastened.
  /// - Returns: the reply to the final dot: the server has the message.
  /// - Throws: `SMTPFailure`, which says at which stage, and whether the server may have the message nevertheless.
  public func send(_ message: SMTPMessage, timeout: Duration) async throws(SMTPFailure) -> SMTPReply {
    guard !message.breaksCommands else {
      throw SMTPFailure(kind: .other, stage: .connect, description: "an address has spaces, controls or angle brackets")
    }
    return try await run(.message(message), timeout: timeout)
  }

  /// Connects, authenticates and says NOOP.
  ///
  /// - Throws: what keeps messages from being submitted.
  public func check(timeout: Duration) async throws(SMTPFailure) {
    _ = try await run(.check, timeout: timeout)
  }

  /// Closes the connections and refuses further messages. Those under way are finished.
  public func shutdown() {
    let (idle, waiting) = state.withLock { state in
      defer {
        state.idle = []
        state.waiting = []
      }
      state.isClosed = true
      return (state.idle, state.waiting)
    }
    for waiter in waiting { waiter.continuation.resume(returning: nil) }
    for session in idle { session.close() }
  }

  private func run(_ task: SMTPSession.Task, timeout: Duration) async throws(SMTPFailure) -> SMTPReply {
    let begun = ContinuousClock.now
    guard let session = await takeSession() else {
      throw SMTPFailure(
        kind: .closed, stage: .connect, description: "\(configuration.authority): the client was closed")
    }
    defer { giveBack(session) }
    var left = timeout - (ContinuousClock.now - begun)
    guard left > .zero else {
      throw SMTPFailure(
        kind: .timedOut, stage: .connect, description: "\(configuration.authority): no connection was free in time")
    }
    var result = await session.run(task, timeout: left, isFresh: false)
    if case .failure(let failure) = result, failure.isStaleConnection {
      left = timeout - (ContinuousClock.now - begun)
      if left > .zero { result = await session.run(task, timeout: left, isFresh: true) }
    }
    return try result.get()
  }

  /// `nil` when the client is closed, or the task was canceled while it waited.
  private func takeSession() async -> SMTPSession? {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let session: SMTPSession?? = state.withLock { state in
          if state.isClosed || Task.isCancelled { return .some(nil) }
          if let session = state.idle.popLast() { return session }
          if state.open < configuration.pool.maxConnections {
            state.open += 1
            return SMTPSession(configuration)
          }
          state.waiting.append((id, continuation))
          return nil
        }
        if let session { continuation.resume(returning: session) }
      }
    } onCancel: {
      let waiter = state.withLock { state -> CheckedContinuation<SMTPSession?, Never>? in
        guard let index = state.waiting.firstIndex(where: { $0.id == id }) else { return nil }
        return state.waiting.remove(at: index).continuation
      }
      waiter?.resume(returning: nil)
    }
  }

  private func giveBack(_ session: SMTPSession) {
    let (next, isClosed) = state.withLock { state -> (CheckedContinuation<SMTPSession?, Never>?, Bool) in
      if state.isClosed { return (nil, true) }
      if !state.waiting.isEmpty { return (state.waiting.removeFirst().continuation, false) }
      state.idle.append(session)
      return (nil, false)
    }
    if isClosed { session.close() }
    next?.resume(returning: session)
  }
}

extension SMTPFailure {
  /// Whether a reused connection turned out to be closed: nothing of this message had been sent.
  fileprivate var isStaleConnection: Bool {
    isReusedConnection && (stage == .sender || stage == .check) && (kind == .lost || reply?.code == 421)
  }
}
