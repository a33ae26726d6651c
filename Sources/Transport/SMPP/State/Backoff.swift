/// Waits between attempts to connect: full jitter below a ceiling that doubles with each failure.
struct Backoff {
  static let first: Duration = .milliseconds(500)
  static let longest: Duration = .seconds(30)
  /// No wait is shorter.
  static let floor: Duration = .milliseconds(50)
  /// A server that does not let us in locks accounts that try too often.
  static let floorAfterRefusal: Duration = .seconds(5)
  /// A session that lived this long was a good one: the next wait is a first one again.
  static let stableAfter: Duration = .seconds(10)

  private var ceiling = first

  /// - Parameters:
  ///   - error: Why a wait is needed.
  ///   - random: From 0 up to, but not including, 1.
  mutating func next(after error: SMPPError, random: Double) -> Duration {
    defer { ceiling = min(Self.longest, ceiling * 2) }
    if case .bindRefused = error.kind { return Self.floorAfterRefusal + ceiling * random }
    return max(Self.floor, ceiling * random)
  }

  /// - Parameter lifetime: How long the session that was lost had been bound.
  mutating func sessionEnded(after lifetime: Duration) {
    if lifetime >= Self.stableAfter { ceiling = Self.first }
  }
}
