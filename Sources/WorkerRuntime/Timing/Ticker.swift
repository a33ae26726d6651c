/// What moves the engine's time on: timers fire, lanes are advanced, pauses are decided at each tick.
protocol Ticker: Sendable {
  /// Suspends until the next tick; ends early when its task is cancelled.
  func next() async
}

/// A tick every 25 ms: the grain of time-outs and of rate limits. Forty wakes a second cost about a millisecond of CPU.
struct SystemTicker: Ticker {
  static let interval: Duration = .milliseconds(25)

  func next() async {
    do {
      try await Task.sleep(for: Self.interval)
    } catch {
      // Cancelled: the caller looks at its task and ends.
    }
  }
}
