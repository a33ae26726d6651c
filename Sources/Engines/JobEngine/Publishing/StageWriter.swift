import CountersignAMQP
import CountersignMessages
import CountersignTelemetry

/// Makes the message in which a job goes on.
struct StageWriter: Sendable {
  /// Name that the messages give as their author.
  let author: Author
  /// The queue of the job, which is bound under its name.
  let queue: String

  /// - Parameters:
  ///   - stage: What goes on.
  ///   - job: The message that it was until now.
  ///   - sender: The sender of that message, and so of this one.
  ///   - jobID: The job that the result will be reported of.
  ///   - startedAt: When this attempt began.
  ///   - now: The time.
  func publication(
    _ stage: NextStage, job: Envelope, sender: String, jobID: String, startedAt: UnixTime, now: UnixTime
  ) -> Publication {
    var envelope = job.leading(to: job.type, messageID: stage.messageID, at: now, by: author, sender: sender)
    envelope.firstAttemptAt = job.firstAttemptAt ?? startedAt
    // The broker names the requester's own channel in its place; by itself it would be a channel of ours.
    envelope.replyTo = job.replyTo == Topology.Queues.directReplyTo ? nil : job.replyTo
    var message = envelope.message(body: stage.body)
    message.headers[WorkerHeader.jobID] = .string(jobID)
    return Publication(message: message, exchange: Topology.Exchanges.jobs, routingKey: queue)
  }
}
