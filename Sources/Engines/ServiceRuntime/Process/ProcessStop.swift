import CountersignTelemetry
import Synchronization

/// The stop of a process at any time: it cancels the start while that waits, and stops the services when they run.
final class ProcessStop: Sendable {
  private struct State {
    var isRequested = false
    var isStarting = false
    var action: @Sendable () -> Void = {}
  }

  private let state = Mutex(State())
  private let logger: Logger
  private let ceiling: Duration
  private let onCanceling: @Sendable () -> Void
  private let abandon: @Sendable (ExitCode) -> Void
  private let sleep: @Sendable (Duration) async throws -> Void

  init(
    logger: Logger, ceiling: Duration, onCanceling: @escaping @Sendable () -> Void = {},
    abandon: @escaping @Sendable (ExitCode) -> Void = { ProcessExit.now($0) },
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) {
    self.logger = logger
    self.ceiling = ceiling
    self.abandon = abandon
    self.sleep = sleep
    self.onCanceling = onCanceling
  }

  func request() {
    let action = state.withLock { state in
      state.isRequested = true
      return state.action
    }
    action()
  }

  /// A request that has come already does it now.
  func onRequest(_ action: @escaping @Sendable () -> Void) {
    let isRequested = state.withLock { state in
      state.action = action
      return state.isRequested
    }
    if isRequested { action() }
  }

  func canceling<Value: Sendable>(_ start: @escaping @Sendable () async throws -> Value) async throws -> Value? {
    state.withLock { $0.isStarting = true }
    let task = Task { try await start() }
    onRequest { [self] in
      onCanceling()
      task.cancel()
      Task { await enforceCeiling() }
    }
    let result = await task.result
    let isRequested = state.withLock { state in
      state.isStarting = false
      state.action = {}
      return state.isRequested
    }
    if case .failure = result, isRequested { return nil }
    return try result.get()
  }

  private func enforceCeiling() async {
    do { try await sleep(ceiling) } catch { return }
    guard state.withLock({ $0.isStarting }) else { return }
    logger.error("the start did not end even when canceled; the process is ended")
    abandon(.temporaryFailure)
  }
}
