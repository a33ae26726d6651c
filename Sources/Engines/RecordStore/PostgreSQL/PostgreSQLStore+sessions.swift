import CountersignTelemetry
package import PostgreSQL
import Synchronization

// Bodies on the connections, with the errors of a store.
extension PostgreSQLStore {
  typealias Attempt<Value> =
    @Sendable (PostgreSQLSession, _ attempt: Int) throws(StoreError) -> (Value, [StoredMessage])

  /// Competition is an outcome.
  func repeating<Value: Sendable>(
    only retried: StoreConflict? = nil, _ body: @escaping Attempt<Value>
  ) async throws(StoreError) -> StoreOutcome<Value> {
    var attempt = 1
    let (clock, steps) = (serverClock, serverClock.steps)
    while true {
      let conflict: StoreConflict
      do throws(StoreError) {
        let (value, messages) = try await transaction { [attempt] session throws(StoreError) in
          // Its time is from before the step, and its caller tries again with another.
          guard clock.steps == steps else { throw Self.clockWasSet }
          return try body(session, attempt)
        }
        return .stored(value, messages: messages)
      } catch {
        let isCrossed = [.deadlock, .serialization, .uniqueViolation].contains(error.code)
        guard let met = error.conflict ?? (isCrossed ? .crossed : nil) else { throw error }
        conflict = met
      }
      figuresSoFar.withLock { $0.conflicts[conflict.label, default: 0] += 1 }
      guard attempt < StoreLimits.maxAttempts, retried == nil || retried == conflict else { return .conflict(conflict) }
      await options.pause(attempt)
      attempt += 1
    }
  }

  private static let clockWasSet = StoreError(.unavailable, "the clock of the database was set meanwhile")

  /// Runs a transaction in which competition is a failure of the store.
  @discardableResult
  package func change<Value: Sendable>(
    _ body: @escaping @Sendable (PostgreSQLSession) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    let outcome = try await repeating { session, _ throws(StoreError) in (try body(session), []) }
    switch outcome {
    case .stored(let value, _): return value
    case .conflict(let conflict): throw StoreError(.busy, conflict.description)
    }
  }

  /// Runs a body of one round trip, whose commit comes with it.
  @discardableResult
  func once<Value: Sendable>(
    _ body: @escaping @Sendable (PostgreSQLSession) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    try await connection.withSession(body)
  }

  private func transaction<Value: Sendable>(
    _ body: @escaping @Sendable (PostgreSQLSession) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    let began = ContinuousClock.now
    let value = try await connection.withTransaction(body)
    figuresSoFar.withLock { figures in
      figures.commits += 1
      figures.commitTime += ContinuousClock.now - began
    }
    return value
  }

  /// Runs a body that only reads, on a connection of its own.
  func look<Value: Sendable>(
    inOneState isOneState: Bool = false,
    _ body: @escaping @Sendable (PostgreSQLSession) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    try await isOneState ? readers.withTransaction(body) : readers.withSession(body)
  }

  // MARK: Life of the session

  /// Asks the server for its time, and so whether the session lives, and replaces a lost session. When the server's
  /// clock was set, a new session takes it over. No transaction is under way then, as all go through this connection.
  static func beat(_ connection: PostgreSQLConnection, _ clock: ServerClock, every interval: Duration) async {
    while !Task.isCancelled {
      do { try await Task.sleep(for: interval) } catch { return }
      let status = connection.status
      // Who writes learns of a failure by itself.
      if !status.isConnected, status.waiting > 0 { continue }
      await follow(clock, connection)
    }
  }

  static func follow(_ clock: ServerClock, _ connection: PostgreSQLConnection) async {
    let isEven = try? await connection.withSession { session throws(StoreError) -> Bool in
      let isEven = clock.follow(try clock.read(session))
      if !isEven { session.replace() }
      return isEven
    }
    guard isEven == false else { return }
    _ = try? await connection.withSession { session throws(StoreError) -> Void in try session.run("SELECT 1") }
  }

  package func session(at now: ContinuousClock.Instant) -> SessionState {
    let status = connection.status
    guard status.isConnected, status.generation == owner.current.generation else { return .lost }
    guard let last = status.lastRoundTrip, now - last >= options.longestSilence else { return .up }
    return .silent
  }

  public func owned(_ messages: [StoredMessage]) async -> [StoredMessage] {
    guard !messages.isEmpty else { return [] }
    // A body looks at the connection's socket first: one that the server has ended is replaced. While another body uses
    // the connection there is no need for a look: that body waits for the same socket, so it finds the end out as soon,
    // and one that the server leaves without an answer grows too old for `isHeard`. What is left is the time between
    // this answer and the publication, which no look can take away: a message that goes out twice by that has the same
    // ID both times.
    if connection.status.waiting == 0 {
      let isSilent = !isHeard
      // A failure shows in the status.
      _ = try? await connection.withSession { session throws(StoreError) in
        if isSilent { try session.run("SELECT 1") }
      }
    }
    guard isHeard else { return [] }
    let current = owner.current.number
    return messages.filter { $0.owner == current }
  }

  private var isHeard: Bool {
    let status = connection.status
    guard status.isConnected, status.generation == owner.current.generation, let last = status.lastRoundTrip
    else { return false }
    return ContinuousClock.now - last < options.longestSilence
  }
}

/// State of a store's session.
public enum SessionState: Sendable {
  /// It answers.
  case up
  /// The connection is open, and the server has left a request without an answer for
  /// ``PostgreSQLStoreOptions/longestSilence``.
  case silent
  /// There is no connection.
  case lost
}
