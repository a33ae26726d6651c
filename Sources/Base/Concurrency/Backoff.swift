/// Exponential backoff with jitter: the delay after each failure is drawn below a ceiling that doubles up to a maximum.
public struct Backoff: Sendable, Hashable {
  /// Part of the ceiling that is left to chance.
  public enum Jitter: Sendable {
    /// From zero to the ceiling. Spreads many callers best.
    case full
    /// From half the ceiling to the ceiling. Keeps a minimum distance.
    case half
  }

  private let ceilings: ClosedRange<Duration>
  private let jitter: Jitter
  private let minDelay: Duration
  private let stableAfter: Duration
  private var failures = 0

  public init(
    _ ceilings: ClosedRange<Duration>, jitter: Jitter = .full, minDelay: Duration = .zero,
    stableAfter: Duration = .seconds(10)
  ) {
    self.ceilings = ceilings
    self.jitter = jitter
    self.minDelay = minDelay
    self.stableAfter = stableAfter
  }

  /// Delay after one more failure.
  ///
  /// - Parameters:
  ///   - base: time that is waited in any case, before the random part.
  ///   - random: random number from 0 up to, but not including, 1.
  public mutating func next(after base: Duration = .zero, random: Double) -> Duration {
    failures += 1
    return max(minDelay, base + share(of: ceiling(after: failures), random: random))
  }

  /// Delay after the given number of failures in a row, from 1.
  ///
  /// - Parameter random: random number from 0 up to, but not including, 1.
  public func delay(after failures: Int, random: Double) -> Duration {
    max(minDelay, share(of: ceiling(after: failures), random: random))
  }

  /// Starts over after a connection that lived long enough to count as a success.
  public mutating func recordEnd(after lifetime: Duration) {
    if lifetime >= stableAfter { failures = 0 }
  }

  private func ceiling(after failures: Int) -> Duration {
    var ceiling = ceilings.lowerBound
    var count = 1
    while count < failures, ceiling < ceilings.upperBound {
      ceiling *= 2
      count += 1
    }
    return min(ceiling, ceilings.upperBound)
  }

  private func share(of ceiling: Duration, random: Double) -> Duration {
    switch jitter {
    case .full: ceiling * random
    case .half: ceiling * (0.5 + random / 2)
    }
  }
}
