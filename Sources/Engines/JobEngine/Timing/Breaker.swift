import CountersignConcurrency
import CountersignTelemetry

/// Opens when something that every job needs has failed so often in a row that no job should be taken for a while.
struct Breaker: Sendable {
  private let threshold: Int
  private let backoff: Backoff
  private var failures = 0
  private(set) var openUntil: MonotonicTime?

  init(threshold: Int, delay: ClosedRange<Duration>) {
    self.threshold = threshold
    backoff = Backoff(delay, jitter: .half)
  }

  /// Whether no job should be taken now. It closes by time, and opens again with the next failure.
  func isOpen(now: MonotonicTime) -> Bool {
    openUntil.map { now < $0 } ?? false
  }

  var isFailing: Bool { failures >= threshold }

  mutating func succeeded() {
    failures = 0
    openUntil = nil
  }

  mutating func failed(now: MonotonicTime, jitter: Double) {
    if isOpen(now: now) { return }
    failures += 1
    guard failures >= threshold else { return }
    openUntil = now + backoff.delay(after: failures - threshold + 1, random: jitter)
  }
}
