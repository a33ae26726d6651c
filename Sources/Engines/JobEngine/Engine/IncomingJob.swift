import CountersignMessages

struct IncomingJob: Sendable {
  var envelope: Envelope
  var sender: String
  var jobID: String
  /// `nil` for a job that is refused without a call.
  var call: JobCall?
  var facts: JobFacts
}

/// A prepared job with its handler, with erased types: the engine behind it is not generic, and so not slowed down by
/// types that are only known at run time.
typealias JobCall = @Sendable (JobCallKind, _ lane: String, JobAttempt) async -> Classification?

enum JobCallKind: Sendable {
  case perform
  case lookUp
}
