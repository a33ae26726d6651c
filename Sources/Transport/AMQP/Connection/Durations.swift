extension Duration {
  func clamped(to range: ClosedRange<Duration>) -> Duration { min(max(self, range.lowerBound), range.upperBound) }
}

extension ContinuousClock.Instant {
  /// Later than anything that is planned.
  static var distant: Self { .now + .seconds(86_400) }
}

extension Optional where Wrapped == String {
  var orEmpty: String { self ?? "" }
}
