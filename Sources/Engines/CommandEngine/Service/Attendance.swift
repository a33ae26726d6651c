import CountersignAMQP
public import CountersignTelemetry
import RecordStore
public import ServiceRuntime
import Synchronization

/// Whether this process takes messages from its queues.
///
/// A member of a service that cannot work steps aside: it stops consuming, and what it had not acknowledged returns to
/// the queues, where other members take it. What it had committed by then is answered from the inbox.
public final class Attendance: Sendable {
  /// A reason to step aside.
  public enum Reason: String, Sendable, CaseIterable {
    /// The shared database has no session for this process.
    case session
    /// A key or a pepper is not that of the other members.
    case secrets
  }

  enum Duty: Sendable, Hashable {
    /// None. Nothing that was delivered is kept.
    case none
    /// That of the commands, as soon as its lock is held.
    case commands
    case all
  }

  private struct State {
    /// Whether the connection of the commands is up, and with it the lock.
    var holdsLock = false
    var problems: [Reason: Problem] = [:]

    var duty: Duty { problems.isEmpty ? (holdsLock ? .all : .commands) : .none }
  }

  /// Text for operators.
  public struct Problem: Sendable, Hashable {
    /// The fact, without secrets.
    public let text: String
    /// Remedy. `nil` when waiting is enough.
    public let hint: String?

    public init(_ text: String, hint: String? = nil) {
      self.text = text
      self.hint = hint
    }
  }

  private let logger: Logger
  private let gauge: MetricFamily<Gauge>
  private let state = Mutex(State())
  private let changes: AsyncStream<Duty>
  private let continuation: AsyncStream<Duty>.Continuation

  /// - Parameters:
  ///   - metrics: registry of the gauge.
  ///   - logger: logger of the changes.
  public init(_ metrics: MetricsRegistry, logger: Logger) {
    self.logger = logger
    // Only the latest counts.
    (changes, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    continuation.yield(.commands)
    gauge = metrics.gauge(
      "countersign_stepped_aside", "Whether the process leaves its queues to others, by the reason: 1, or 0.",
      labels: ["reason"])
    for reason in Reason.allCases { gauge.with(reason.rawValue).set(0) }
  }

  /// Steps aside for a reason, or returns when no other is left.
  /// - Parameter problem: `nil` when the reason is gone.
  public func set(_ reason: Reason, _ problem: Problem?) {
    let isChange = state.withLock { state in
      let before = state.problems.replace(problem, for: reason)
      guard (before == nil) != (problem == nil) else { return false }
      continuation.yield(state.duty)
      return true
    }
    guard isChange else { return }
    gauge.with(reason.rawValue).set(problem == nil ? 0 : 1)
    if let problem {
      logger.warning(
        "this process leaves its queues to others",
        [.reason: reason.rawValue, .error: problem.text, .hint: problem.hint])
    } else {
      logger.info("a reason to leave the queues to others is gone", [.reason: reason.rawValue])
    }
  }

  func note(_ event: ConnectionEvent) {
    let isConnected: Bool
    switch event {
    case .connected: isConnected = true
    case .disconnected: isConnected = false
    default: return
    }
    state.withLock { state in
      state.holdsLock = isConnected
      continuation.yield(state.duty)
    }
  }

  /// Failing while the process has stepped aside.
  public var health: HealthState {
    let problems = state.withLock { $0.problems }
    guard let problem = Reason.allCases.lazy.compactMap({ problems[$0] }).first else { return .ok }
    return .failing("takes no messages: \(problem.text)", hint: problem.hint)
  }

  func follow(_ body: (Duty) async -> Void) async {
    for await duty in changes { await body(duty) }
  }

  func end() { continuation.finish() }
}

extension [Attendance.Reason: Attendance.Problem] {
  fileprivate mutating func replace(
    _ problem: Attendance.Problem?, for reason: Attendance.Reason
  ) -> Attendance.Problem? {
    let before = self[reason]
    self[reason] = problem
    return before
  }
}

/// Consumes the queues while the process may: the reports only while the commands are consumed.
struct AttendanceService: Service {
  let name = "attendance"
  let attendance: Attendance
  let commands: Consumer
  let reports: Consumer
  /// `nil` for a database that no other process shares.
  let session: (@Sendable () -> SessionState)?

  private static let interval = Duration.milliseconds(200)

  func run() async {
    await withTaskGroup(of: Void.self) { group in
      if let session { group.addTask { await watch(session) } }
      await attendance.follow { await carryOut($0) }
      group.cancelAll()
    }
  }

  func stop() async { attendance.end() }

  private func carryOut(_ duty: Attendance.Duty) async {
    switch duty {
    case .none:
      async let commands: Void = commands.stepAside()
      async let reports: Void = reports.stepAside()
      _ = await (commands, reports)
    case .commands:
      await reports.pause()
      await commands.resume()
    case .all:
      await commands.resume()
      await reports.resume()
    }
  }

  private func watch(_ session: @Sendable () -> SessionState) async {
    var absence = SessionAbsence()
    while !Task.isCancelled {
      attendance.set(.session, absence.problem(session(), at: .now))
      // Canceled at the end.
      try? await Task.sleep(for: Self.interval)
    }
  }
}

/// Tells a short loss of the session, after which the process goes on by itself, from one that others should not wait
/// for.
struct SessionAbsence {
  /// Time without a session after which a member steps aside: a restart of the server or a failover takes less.
  static let patience = Duration.seconds(2)

  private var since: ContinuousClock.Instant?

  mutating func problem(_ session: SessionState, at now: ContinuousClock.Instant) -> Attendance.Problem? {
    switch session {
    case .up: since = nil
    case .lost: since = since ?? now
    case .silent: since = since ?? (now - Self.patience)
    }
    guard let since, now - since >= Self.patience else { return nil }
    return Attendance.Problem("there is no session with the database", hint: "the check 'database' says why")
  }
}
