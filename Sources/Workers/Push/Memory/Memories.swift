import CountersignTelemetry
import JobEngine
import RecordStore

/// Memory of the reCAPTCHA tokens that were assessed, with their verdicts.
///
/// reCAPTCHA takes a token once. A job that is delivered again after a crash must find its verdict here, and a second
/// job with the same token must not get one.
protocol AssessmentMemory: Sendable {
  /// Claims a token for a job, before it is assessed.
  func begin(_ token: [UInt8], jobID: String, now: UnixTime) async throws(StoreError) -> AssessmentStart

  /// Records the verdict, before it is published.
  func record(
    _ verdict: AssessmentVerdict, of token: [UInt8], jobID: String, now: UnixTime
  ) async throws(StoreError)

  /// Releases a token that was certainly not assessed.
  func release(_ token: [UInt8], jobID: String) async throws(StoreError)

  /// The verdict of a job, if there is one.
  func verdict(of token: [UInt8], jobID: String) async throws(StoreError) -> AssessmentVerdict?
}

/// State of a token that a job claims.
enum AssessmentStart: Sendable, Hashable {
  /// The token is new, and now claimed by the job.
  case fresh
  /// The job claimed it before, with an unknown outcome.
  case uncertain
  case assessed(AssessmentVerdict)
  case spent
}

/// Memory of the push service each device token belongs to, for apps that do not state it.
protocol EnvironmentMemory: Sendable {
  func environment(of deviceToken: String, app: String) async -> DeviceEnvironment?

  /// Remembers the environment. A failure costs another try the next time.
  func remember(_ environment: DeviceEnvironment, of deviceToken: String, app: String, at now: UnixTime) async
}
