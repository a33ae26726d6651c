import CountersignTelemetry
import JobEngine

/// Remembers which reCAPTCHA tokens were assessed, and with what verdict.
///
/// reCAPTCHA takes a token once, so a job that is delivered again after a crash must find its verdict here, and a second job with the same
/// token must not get one.
protocol AssessmentMemory: Sendable {
  /// Takes a token for a job, before it is assessed.
  /// - Throws: when that cannot be written; then nothing may be assessed.
  func begin(_ token: [UInt8], jobID: String, now: UnixTime) async throws(AssessmentMemoryError) -> AssessmentStart

  /// Records the verdict, before anybody learns of it.
  func record(
    _ verdict: AssessmentVerdict, of token: [UInt8], jobID: String, now: UnixTime
  ) async throws(AssessmentMemoryError)

  /// Gives a token back that surely was not assessed.
  func release(_ token: [UInt8], jobID: String) async throws(AssessmentMemoryError)

  /// The verdict of a job, when there is one.
  func verdict(of token: [UInt8], jobID: String) async throws(AssessmentMemoryError) -> AssessmentVerdict?
}

/// What is known of a token when a job takes it.
enum AssessmentStart: Sendable, Hashable {
  /// Nothing: it is the job's now.
  case fresh
  /// The job took it before, and nobody knows what came of that.
  case uncertain
  /// The job has its verdict.
  case assessed(AssessmentVerdict)
  /// Another job has used it.
  case spent
}

/// The memory cannot be read or written. Safe to log.
struct AssessmentMemoryError: Error, Sendable, CustomStringConvertible {
  let description: String
}
