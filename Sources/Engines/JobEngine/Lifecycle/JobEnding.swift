import CountersignMessages

struct JobEnding: Sendable, Hashable {
  var outcome: JobOutcome
  var lane: String?
  var reference: String?
  var reason: Reason?
  var extras: ResultExtras = [:]
  var attempts: Int
}
