import CountersignConcurrency
import CountersignTelemetry

/// After the timeout the call's task is canceled. A handler that ends then still determines the outcome. After a
/// further grace period it is abandoned: the job continues as unknown, and anything the call's task does later is
/// ignored.
struct CallGuard: Sendable {
  /// Time after its timeout at which a call is canceled. The transport's own timeout, which knows more, comes first.
  static let slack: Duration = .milliseconds(500)
  static let grace: Duration = .seconds(2)

  let timers: Timers
  let clock: any MonotonicClock

  func run<Answer: Sendable>(
    timeout: Duration, abandoned: Answer, _ call: @escaping @Sendable () async -> Answer
  ) async -> Answer {
    let slot = AnswerSlot<Answer>()
    // Not a child task: a parent waits for its children, and the point is not to wait for a call that hangs.
    let task = Task { slot.value.resolve(await call()) }
    let limit = clock.now() + timeout + Self.slack
    let watch = Task { [timers] in
      guard await timers.sleep(until: limit, outlastsStop: true) else { return }
      task.cancel()
      guard await timers.sleep(until: limit + Self.grace, outlastsStop: true) else { return }
      slot.value.resolve(abandoned)
    }
    defer { watch.cancel() }
    return await withTaskCancellationHandler {
      await slot.value.value()
    } onCancel: {
      task.cancel()
    }
  }
}
