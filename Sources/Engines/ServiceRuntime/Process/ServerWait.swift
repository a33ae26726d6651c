public import CountersignTelemetry
import Synchronization

/// Wait of a starting process for a server that it needs. `/readyz` and the log tell the reason.
public final class ServerWait: Sendable {
  /// Pause between two attempts.
  public static let interval = Duration.seconds(1)
  /// Time between two log entries about the same reason.
  public static let reminder = Duration.seconds(30)

  private let server: String
  private let hint: String
  private let clock: any MonotonicClock
  private let reason: Mutex<String?>

  /// - Parameters:
  ///   - server: its name in messages, `the database`.
  ///   - hint: remedy for an operator.
  ///   - clock: times the log entries.
  public init(for server: String, hint: String, clock: any MonotonicClock = SystemMonotonicClock()) {
    self.server = server
    self.hint = hint
    self.clock = clock
    reason = Mutex("\(server) was not reached yet")
  }

  /// State for `/readyz`.
  public var health: HealthState { reason.withLock { $0 }.map { .failing($0, hint: hint) } ?? .ok }

  /// Tries until it succeeds, or cannot.
  /// - Parameters:
  ///   - logger: log of the wait: when it begins, when its reason changes, and every half minute.
  ///   - sleep: waits between two attempts; a parameter for tests.
  ///   - end: the error that ends the process, for a failure that no waiting changes.
  ///   - open: an attempt.
  /// - Throws: what `end` returns; the error of a canceled `sleep`.
  public func run<Value, Failure: CustomStringConvertible & Error>(
    logger: Logger, sleep: (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
    end: (Failure) -> (any Error)?, _ open: () async throws(Failure) -> Value
  ) async throws -> Value {
    var notedAt: MonotonicTime?
    while true {
      do throws(Failure) {
        let value = try await open()
        reason.withLock { $0 = nil }
        return value
      } catch {
        if let end = end(error) { throw end }
        note(error.description, &notedAt, logger)
      }
      try await sleep(Self.interval)
    }
  }

  private func note(_ text: String, _ notedAt: inout MonotonicTime?, _ logger: Logger) {
    let isNews = reason.withLock { reason in
      defer { reason = text }
      return reason != text
    }
    let now = clock.now()
    if !isNews, let notedAt, now - notedAt < Self.reminder { return }
    notedAt = now
    logger.warning("a server cannot be used; waiting until it can", ["for": server, .error: text, .hint: hint])
  }
}
