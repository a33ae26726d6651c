import Telemetry

/// Tokens that grow with time up to a ceiling; each call takes one.
struct TokenBucket: Sendable {
  private let rate: LaneRate
  private var tokens: Double
  private var updatedAt: UnixTime

  /// A full bucket.
  init(_ rate: LaneRate, now: UnixTime) {
    self.rate = rate
    tokens = Double(rate.burst)
    updatedAt = now
  }

  /// Takes a token, when there is one.
  mutating func take(now: UnixTime) -> Bool {
    refill(now)
    guard tokens >= 1 else { return false }
    tokens -= 1
    return true
  }

  /// Puts a token back that was not used.
  mutating func putBack() {
    tokens = min(tokens + 1, Double(rate.burst))
  }

  private mutating func refill(_ now: UnixTime) {
    // A clock that was set back adds nothing, and counts from its new time on.
    let elapsed = max(0, (now - updatedAt).fractionalSeconds)
    tokens = min(tokens + elapsed * rate.perSecond, Double(rate.burst))
    updatedAt = now
  }
}
