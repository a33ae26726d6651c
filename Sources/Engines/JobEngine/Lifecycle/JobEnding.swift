import CountersignMessages

/// The final outcome of a job, before it is written down as a result.
struct JobEnding: Sendable, Hashable {
  var outcome: JobOutcome
  var lane: String?
  var reference: String?
  var reason: Reason?
  var extras: ResultExtras = [:]
  /// How many attempts were made.
  var attempts: Int
}
