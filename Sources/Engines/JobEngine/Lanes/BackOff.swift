/// Exponential backoff with jitter: from half to the whole of a delay that doubles up to a ceiling.
struct BackOff: Sendable, Hashable {
  var minimum: Duration
  var maximum: Duration

  init(_ range: ClosedRange<Duration>) {
    minimum = range.lowerBound
    maximum = range.upperBound
  }

  /// The delay after a number of consecutive failures.
  /// - Parameters:
  ///   - failures: consecutive failures, from 1.
  ///   - jitter: a random number, 0 ..< 1.
  func delay(after failures: Int, jitter: Double) -> Duration {
    var whole = minimum
    var step = 1
    while step < failures, whole < maximum {
      whole *= 2
      step += 1
    }
    return min(whole, maximum) * (0.5 + jitter / 2)
  }
}
