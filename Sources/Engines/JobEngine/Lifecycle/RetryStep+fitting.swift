import CountersignMessages
import CountersignTelemetry

extension RetryStep {
  static func fitting(_ wanted: RetryStep, now: UnixTime, latest: UnixTime) -> RetryStep? {
    allCases.last { $0.delay <= wanted.delay && now + $0.delay <= latest }
  }
}
