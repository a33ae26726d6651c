import CountersignTelemetry

/// Requests to one webhook at a time: many while it answers, one now and then while it does not.
struct Pace: Sendable, Hashable {
  /// Failures in a row, of whatever events, after which the server is taken for down.
  static let tolerance = 8
  /// First and longest pause between requests to a server that is down.
  static let pauses = Duration.seconds(5)...(.seconds(300))

  private(set) var underWay = 0
  private var failures = 0
  private var isAsked = false
  private var pause = pauses.lowerBound
  private var pausedUntil: MonotonicTime?

  var isDown: Bool { failures >= Self.tolerance }

  /// Requests that may begin.
  func room(of limit: Int, at now: MonotonicTime) -> Int {
    if let pausedUntil, now < pausedUntil { return 0 }
    return isDown ? max(0, 1 - underWay) : max(0, limit - underWay)
  }

  mutating func begin(_ count: Int) {
    underWay += count
    if isDown, count > 0 { isAsked = true }
  }

  mutating func end(_ outcome: Outcome, at now: MonotonicTime) {
    underWay = max(0, underWay - 1)
    switch outcome {
    case .skipped:
      isAsked = false
      pausedUntil = max(pausedUntil ?? now, now + Lane.pause)
    case .delivered: succeed()
    case .gone, .refused, .unreachable, .forbidden: fail(at: now)
    }
  }

  private mutating func succeed() {
    let left = underWay
    self = Pace()
    underWay = left
  }

  /// Those that began before the server was taken for down tell nothing new: they failed together.
  private mutating func fail(at now: MonotonicTime) {
    guard isDown else {
      failures += 1
      if isDown { pausedUntil = now + pause }
      return
    }
    guard isAsked else { return }
    isAsked = false
    pause = min(pause * 2, Self.pauses.upperBound)
    pausedUntil = now + pause
  }
}
