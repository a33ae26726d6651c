import Synchronization

/// A maximum wait.
public struct Patience: Sendable {
  let sleep: @Sendable () async -> Void

  public init(sleep: @escaping @Sendable () async -> Void) {
    self.sleep = sleep
  }

  /// A wait by the clock of the machine.
  public static func lasting(_ duration: Duration) -> Patience {
    Patience {
      // Canceled: the awaited event has happened.
      try? await Task.sleep(for: duration)
    }
  }
}

final class Wait: Sendable {
  private struct State {
    var value: Bool?
    var waiter: CheckedContinuation<Bool, Never>?
  }

  private let state = Mutex(State())

  /// Only the first call counts.
  @discardableResult
  func finish(_ value: Bool) -> Bool {
    let (isFirst, waiter) = state.withLock { state -> (Bool, CheckedContinuation<Bool, Never>?) in
      guard state.value == nil else { return (false, nil) }
      state.value = value
      defer { state.waiter = nil }
      return (true, state.waiter)
    }
    waiter?.resume(returning: value)
    return isFirst
  }

  /// Its result: `false` when the patience was over before.
  func value(_ patience: Patience) async -> Bool {
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        await patience.sleep()
        self.finish(false)
      }
      let value = await withCheckedContinuation { continuation in
        let known = state.withLock { state in
          if state.value == nil { state.waiter = continuation }
          return state.value
        }
        if let known { continuation.resume(returning: known) }
      }
      group.cancelAll()
      return value
    }
  }
}

/// Maximum durations of the two parts of a trial.
public struct TrialPatience: Sendable {
  /// Maximum wait for other messages before one is alone.
  public var quiet: Patience
  /// Maximum time for which a message is alone.
  public var alone: Patience

  public init(
    quiet: Patience = .lasting(CrashMarks.quietPatience), alone: Patience = .lasting(CrashMarks.patience)
  ) {
    self.quiet = quiet
    self.alone = alone
  }
}
