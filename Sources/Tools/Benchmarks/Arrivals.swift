import Synchronization

final class Arrivals<Content: Sendable>: Sendable {
  struct Arrival: Sendable {
    let content: Content
    let at: ContinuousClock.Instant
  }

  private struct Waiter {
    let continuation: CheckedContinuation<Arrival?, Never>
    let since: ContinuousClock.Instant
  }

  private struct State {
    var waiting: [String: Waiter] = [:]
    var arrived: [String: Arrival] = [:]
    var repeated = 0
  }

  private let state = Mutex(State())

  /// Number of arrivals for recipients that had one already.
  var repeated: Int { state.withLock { $0.repeated } }

  func add(_ content: Content, for recipient: String, at instant: ContinuousClock.Instant) {
    let arrival = Arrival(content: content, at: instant)
    let waiting = state.withLock { state in
      if state.arrived.updateValue(arrival, forKey: recipient) != nil { state.repeated += 1 }
      return state.waiting.removeValue(forKey: recipient)
    }
    waiting?.continuation.resume(returning: arrival)
  }

  /// `nil` if `giveUp` ended the wait.
  func next(for recipient: String) async -> Arrival? {
    await withCheckedContinuation { continuation in
      let arrived: Arrival? = state.withLock { state in
        if let arrival = state.arrived[recipient] { return arrival }
        state.waiting[recipient] = Waiter(continuation: continuation, since: .now)
        return nil
      }
      if let arrived { continuation.resume(returning: arrived) }
    }
  }

  func arrival(for recipient: String) async throws(LoadFailure) -> Arrival {
    guard let arrival = await next(for: recipient) else { throw LoadFailure(code: "NO_ARRIVAL") }
    return arrival
  }

  func giveUp(after limit: Duration) {
    let now = ContinuousClock.now
    let late = state.withLock { state in
      let late = state.waiting.filter { now - $0.value.since > limit }
      for recipient in late.keys { state.waiting.removeValue(forKey: recipient) }
      return late.values.map(\.continuation)
    }
    for continuation in late { continuation.resume(returning: nil) }
  }
}
