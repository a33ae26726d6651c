internal import Dispatch

extension Duration {
  /// Whole nanoseconds, at most `Int64.max`.
  var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    guard !overflow else { return seconds < 0 ? .min : .max }
    let (sum, carried) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    return carried ? .max : sum
  }

  func clamped(to range: ClosedRange<Duration>) -> Duration { min(max(self, range.lowerBound), range.upperBound) }

  /// For Dispatch timers.
  var dispatchInterval: DispatchTimeInterval { .nanoseconds(Int(clamping: nanoseconds)) }
}

extension ContinuousClock.Instant {
  /// Later than anything that is planned.
  static var distant: Self { .now + .seconds(86_400) }
}

extension Optional where Wrapped == String {
  var orEmpty: String { self ?? "" }
}
