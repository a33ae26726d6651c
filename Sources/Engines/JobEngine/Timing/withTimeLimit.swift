import CountersignConcurrency

/// The body goes on after the instant, and its answer is ignored.
func withTimeLimit<Answer: Sendable>(
  _ instant: ContinuousClock.Instant, late: Answer, _ body: @escaping @Sendable () async -> Answer
) async -> Answer {
  let slot = AnswerSlot<Answer>()
  // Not child tasks: a parent waits for its children.
  Task { slot.value.resolve(await body()) }
  let timer = Task {
    do { try await Task.sleep(until: instant, clock: .continuous) } catch { return }
    slot.value.resolve(late)
  }
  let answer = await slot.value.value()
  timer.cancel()
  return answer
}

/// An answer of which only the first one counts.
final class AnswerSlot<Answer: Sendable>: Sendable {
  let value = OneShot<Answer>()
}
