import CountersignMessages
import CountersignTelemetry

extension RetryStep {
  /// The longest retry delay up to `wanted` that ends at `latest` or before. `nil` when there is none.
  static func fitting(_ wanted: RetryStep, now: UnixTime, latest: UnixTime) -> RetryStep? {
    allCases.last { $0.delay <= wanted.delay && now + $0.delay <= latest }
  }
}
