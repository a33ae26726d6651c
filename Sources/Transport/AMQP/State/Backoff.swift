/// Waits between attempts to connect: full jitter below a ceiling that doubles with each failure.
struct Backoff {
  /// No wait is shorter, or an endpoint that fails at once would be hammered whenever the dice fall low.
  static let floor: Duration = .milliseconds(10)
  /// A connection that lived this long was a good one: the next wait is a first one again.
  static let stableAfter: Duration = .seconds(10)

  private let bounds: ConnectionOptions.ReconnectDelay
  private(set) var ceiling: Duration

  init(_ bounds: ConnectionOptions.ReconnectDelay) {
    self.bounds = bounds
    self.ceiling = bounds.min
  }

  /// - Parameter random: from 0 up to, but not including, 1.
  mutating func next(random: Double) -> Duration {
    defer { ceiling = min(bounds.max, ceiling * 2) }
    return max(Self.floor, ceiling * random)
  }

  /// - Parameter lifetime: how long the connection that was lost had been open.
  mutating func connectionEnded(after lifetime: Duration) {
    if lifetime >= Self.stableAfter { ceiling = bounds.min }
  }
}
