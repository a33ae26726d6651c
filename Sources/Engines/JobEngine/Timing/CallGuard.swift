import CountersignTelemetry
import Synchronization

/// Bounds a provider call in time, even one that does not react to cancellation.
///
/// After the timeout the call's task is canceled; a handler that ends then still determines the outcome. After a
/// further grace period it is abandoned: the job continues as unknown, and anything the call's task does later is
/// ignored.
struct CallGuard: Sendable {
  /// Time after its timeout at which a call is canceled. The transport's own timeout, which knows more, comes first.
  static let slack: Duration = .milliseconds(500)
  /// Time that a canceled call may take to end.
  static let grace: Duration = .seconds(2)

  let timers: Timers
  let clock: any MonotonicClock

  /// Runs a call.
  /// - Parameters:
  ///   - timeout: maximum duration.
  ///   - abandoned: the answer when it does not end.
  func run<Answer: Sendable>(
    timeout: Duration, abandoned: Answer, _ call: @escaping @Sendable () async -> Answer
  ) async -> Answer {
    let pending = PendingAnswer<Answer>()
    // Not a child task: a parent waits for its children, and the point is not to wait for a call that hangs.
    let task = Task { pending.resolve(await call()) }
    let limit = clock.now() + timeout + Self.slack
    let timers = timers
    let timer = timers.schedule(at: limit) {
      task.cancel()
      let last = timers.schedule(at: limit + Self.grace) { pending.resolve(abandoned) }
      if !pending.setTimer(last) { timers.cancel(last) }
    }
    let answer = await withTaskCancellationHandler {
      await pending.value()
    } onCancel: {
      task.cancel()
    }
    timers.cancel(timer)
    if let timer = pending.timer { timers.cancel(timer) }
    return answer
  }
}

/// An answer that is given once; later ones are ignored.
private final class PendingAnswer<Answer: Sendable>: Sendable {
  private enum State {
    case open
    case waiting(CheckedContinuation<Answer, Never>)
    case resolved(Answer)
    case taken
  }

  private let state = Mutex<(answer: State, timer: Int?)>((.open, nil))

  var timer: Int? { state.withLock { $0.timer } }

  /// - Returns: `false` when the answer was given meanwhile, so that the timer will not be canceled.
  func setTimer(_ timer: Int) -> Bool {
    state.withLock { state in
      if case .taken = state.answer { return false }
      state.timer = timer
      return true
    }
  }

  func resolve(_ answer: Answer) {
    let continuation: CheckedContinuation<Answer, Never>? = state.withLock { state in
      switch state.answer {
      case .open:
        state.answer = .resolved(answer)
        return nil
      case .waiting(let continuation):
        state.answer = .taken
        return continuation
      case .resolved, .taken: return nil
      }
    }
    continuation?.resume(returning: answer)
  }

  func value() async -> Answer {
    await withCheckedContinuation { continuation in
      let answer: Answer? = state.withLock { state in
        switch state.answer {
        case .resolved(let answer):
          state.answer = .taken
          return answer
        case .open, .waiting, .taken:
          state.answer = .waiting(continuation)
          return nil
        }
      }
      if let answer { continuation.resume(returning: answer) }
    }
  }
}
