import CountersignTelemetry

struct TokenBucket: Sendable {
  private let rate: LaneRate
  private var tokens: Double
  private var updatedAt: MonotonicTime

  init(_ rate: LaneRate, now: MonotonicTime) {
    self.rate = rate
    tokens = Double(rate.burst)
    updatedAt = now
  }

  mutating func take(now: MonotonicTime) -> Bool {
    refill(now)
    guard tokens >= 1 else { return false }
    tokens -= 1
    return true
  }

  mutating func putBack() {
    tokens = min(tokens + 1, Double(rate.burst))
  }

  private mutating func refill(_ now: MonotonicTime) {
    // Two threads may pass their times in the wrong order.
    guard now > updatedAt else { return }
    tokens = min(tokens + (now - updatedAt).fractionalSeconds * rate.perSecond, Double(rate.burst))
    updatedAt = now
  }
}
