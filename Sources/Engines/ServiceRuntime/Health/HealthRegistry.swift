import Synchronization

/// The checks of a process, which decide whether it is ready for work.
///
/// It is ready when it has started, no check fails and no stop has begun.
public final class HealthRegistry: Sendable {
  private enum Phase {
    case starting, running, stopping
  }

  private struct RegisteredCheck {
    let name: String
    let detail: (@Sendable () -> String?)?
    let state: @Sendable () -> HealthState

    var result: HealthReport.Check { HealthReport.Check(name: name, state(), detail: detail?()) }
  }

  private struct State {
    var phase = Phase.starting
    var checks: [RegisteredCheck] = []
  }

  private let state = Mutex(State())

  public init() {}

  /// Adds a check. One with the same name replaces the earlier one.
  /// - Parameters:
  ///   - name: lower case: `broker`, `lane.twilio-eu`.
  ///   - detail: subject of the check where it changes, such as the host in use; without secrets.
  ///   - check: called, as `detail` is, for each request for the readiness, so it must be quick and must not wait.
  public func register(
    _ name: String, detail: (@Sendable () -> String?)? = nil, check: @escaping @Sendable () -> HealthState
  ) {
    state.withLock { state in
      state.checks.removeAll { $0.name == name }
      state.checks.append(RegisteredCheck(name: name, detail: detail, state: check))
    }
  }

  /// Records that the services run.
  public func setRunning() {
    state.withLock { if $0.phase == .starting { $0.phase = .running } }
  }

  /// Records the beginning of a stop: not ready from now on.
  public func setStopping() {
    state.withLock { $0.phase = .stopping }
  }

  /// The current state of all checks.
  public func report() -> HealthReport {
    let (phase, checks) = state.withLock { ($0.phase, $0.checks) }
    var results = checks.map(\.result)
    switch phase {
    case .starting: results.insert(.init(name: "process", .failing("is starting")), at: 0)
    case .stopping: results.insert(.init(name: "process", .failing("is stopping")), at: 0)
    case .running: break
    }
    return HealthReport(checks: results)
  }
}
