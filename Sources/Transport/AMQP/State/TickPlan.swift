/// Decides when a connection looks again at what depends on time.
enum TickPlan {
  typealias Instant = ContinuousClock.Instant

  /// No look follows another sooner: what is overdue, and stays so, must not keep a core busy.
  static let floor: Duration = .milliseconds(25)

  /// - Parameters:
  ///   - regular: the longest time without a look.
  ///   - due: when something is due before that, if anything.
  static func next(after now: Instant, regular: Duration, due: Instant?) -> Instant {
    guard let due else { return now + regular }
    return min(now + regular, max(due, now + floor))
  }
}
