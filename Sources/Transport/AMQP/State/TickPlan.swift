enum TickPlan {
  typealias Instant = ContinuousClock.Instant

  /// A deadline that stays overdue must not keep a core busy.
  static let floor: Duration = .milliseconds(25)

  static func next(after now: Instant, regular: Duration, due: Instant?) -> Instant {
    guard let due else { return now + regular }
    return min(now + regular, max(due, now + floor))
  }
}
