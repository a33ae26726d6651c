import CountersignTelemetry
import Synchronization

/// A lane of the worker: the lock and the continuations around a ``LaneState``.
final class Lane: Sendable {
  private struct Guarded {
    var state: LaneState
    var waiting: [Int: CheckedContinuation<SlotAnswer, Never>] = [:]
    var lastTicket = 0
  }

  let configuration: LaneConfiguration
  private let guarded: Mutex<Guarded>

  init(_ configuration: LaneConfiguration, now: MonotonicTime) {
    self.configuration = configuration
    guarded = Mutex(Guarded(state: LaneState(configuration, now: now)))
  }

  var name: String { configuration.name }

  func read<Value: Sendable>(_ body: (LaneState) -> Value) -> Value {
    guarded.withLock { body($0.state) }
  }

  /// The wait does not end when its task is canceled: `stop` ends it.
  func acquire(giveUpAt: MonotonicTime, now: MonotonicTime) async -> SlotAnswer {
    if let answer = guarded.withLock({ $0.state.acquire(ticket: nil, giveUpAt: giveUpAt, now: now) }) { return answer }
    return await withCheckedContinuation { continuation in
      let answer: SlotAnswer? = guarded.withLock { guarded in
        let ticket = guarded.lastTicket + 1
        if let answer = guarded.state.acquire(ticket: ticket, giveUpAt: giveUpAt, now: now) { return answer }
        guarded.lastTicket = ticket
        guarded.waiting[ticket] = continuation
        return nil
      }
      if let answer { continuation.resume(returning: answer) }
    }
  }

  func finish(_ grant: SlotGrant, _ report: CallReport, now: MonotonicTime) {
    mutate { $0.finish(grant, report, now: now, jitter: .random(in: 0..<1)) }
  }

  func advance(now: MonotonicTime) { mutate { $0.advance(now: now) } }

  func startProbeIfDue(now: MonotonicTime) -> Bool {
    guarded.withLock { $0.state.startProbeIfDue(now: now) }
  }

  func probed(_ result: ProbeResult, now: MonotonicTime) {
    mutate { $0.probed(result, now: now, jitter: .random(in: 0..<1)) }
  }

  func stop() { mutate { $0.stop() } }

  private func mutate(_ body: (inout LaneState) -> [LaneState.Resumption]) {
    let resumed = guarded.withLock { guarded in
      body(&guarded.state).map { (guarded.waiting.removeValue(forKey: $0.ticket), $0.answer) }
    }
    for (continuation, answer) in resumed { continuation?.resume(returning: answer) }
  }
}
