import CountersignEncoding
public import CountersignTelemetry

/// A worker's report that a job takes a retry delay: its first one, or one with another reason than the last.
///
/// Published with the results of the jobs. Jobs of `sms.bulk` are not reported on, because no queue is bound to theirs.
public struct JobDelayed: Codable, Sendable, Hashable {
  /// The job's `message_id`.
  public var jobID: String
  /// Reason that the job could not end.
  public var reason: JobResult.Reason
  /// Number of attempts so far, 0 if no provider was called.
  public var attempts: Int
  /// Earliest time of the next attempt.
  public var nextAttemptAt: UnixTime

  public init(jobID: String, reason: JobResult.Reason, attempts: Int, nextAttemptAt: UnixTime) {
    self.jobID = jobID
    self.reason = reason
    self.attempts = attempts
    self.nextAttemptAt = nextAttemptAt
  }

  /// Type of the reports on a job type: `sms.dispatch.delayed.v1` for `sms.dispatch.v1`.
  public static func type(ofJob job: MessageType) -> MessageType {
    MessageType("\(job.name).\(word)", version: job.version)
  }

  /// Routing key on the exchange of the results: `sms.dispatch.delayed`.
  /// - Parameter queue: queue of the job.
  public static func routingKey(queue: String) -> String { "\(queue).\(word)" }

  /// Last part of the type and of the routing key.
  public static let word = "delayed"

  /// Reads a body.
  /// - Throws: the problem and its field, never the value.
  public init(json: [UInt8]) throws(ContractProblem) {
    self = try ContractJSON.decode(Self.self, from: json)
  }

  /// The body as UTF-8 JSON.
  package var fastJSON: [UInt8] {
    var text = JSONObjectWriter()
    text.put("jobID", jobID)
    text.put("reason", object: reason.fastJSON)
    text.put("attempts", attempts)
    text.put("nextAttemptAt", nextAttemptAt)
    return text.finished()
  }
}
