import CountersignConcurrency
import Synchronization

/// Drives the engine's time: at each tick, timers fire, lanes advance, and pauses are decided.
protocol Ticker: Sendable {
  /// Ends early when its task is canceled. One caller at a time.
  func next(within limit: Duration) async
  /// Brings a later tick forward to now. Does not wait.
  func wake()
}

/// Ticks every 25 ms while work is in progress, the granularity of timeouts and rate limits, and rarely otherwise.
final class SystemTicker: Ticker {
  /// The shortest time between ticks. Forty wakes a second cost about a millisecond of CPU.
  static let interval: Duration = .milliseconds(25)

  /// Opened by a wake, and replaced by the tick that follows it.
  private let wakes = Mutex(Latch())

  func next(within limit: Duration) async {
    guard limit > Self.interval else {
      // Canceled: the caller checks its task and ends.
      try? await Task.sleep(for: Self.interval)
      return
    }
    await wakes.withLock { $0 }.wait(atMost: limit)
    wakes.withLock { if $0.isOpen { $0 = Latch() } }
  }

  func wake() { wakes.withLock { $0 }.open() }
}
