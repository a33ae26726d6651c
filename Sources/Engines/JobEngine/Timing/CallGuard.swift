import CountersignConcurrency
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
    if let timer = pending.end() { timers.cancel(timer) }
    return answer
  }
}

/// The answer of a call, with the timer that abandons it.
private final class PendingAnswer<Answer: Sendable>: Sendable {
  private let slot = OneShot<Answer>()
  private let timer = Mutex<(id: Int?, isOver: Bool)>((nil, false))

  func setTimer(_ id: Int) -> Bool {
    timer.withLock { timer in
      if !timer.isOver { timer.id = id }
      return !timer.isOver
    }
  }

  func end() -> Int? {
    timer.withLock { timer in
      timer.isOver = true
      return timer.id
    }
  }

  /// Only the first answer counts.
  func resolve(_ answer: Answer) { slot.resolve(answer) }

  func value() async -> Answer { await slot.value() }
}
