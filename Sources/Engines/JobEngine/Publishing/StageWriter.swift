import CountersignAMQP
import CountersignMessages
import CountersignTelemetry

/// Writes the message with which a job continues.
struct StageWriter: Sendable {
  /// Author of the messages.
  let author: Author
  /// The queue of the job, which is bound under its name.
  let queue: String

  /// - Parameters:
  ///   - stage: the next stage.
  ///   - job: the message of the current stage.
  ///   - sender: the sender of that message, and so of this one.
  ///   - jobID: the job that the result will name.
  ///   - startedAt: start of this attempt.
  ///   - now: the current time.
  func publication(
    _ stage: NextStage, job: Envelope, sender: String, jobID: String, startedAt: UnixTime, now: UnixTime
  ) -> Publication {
    var envelope = job.leading(to: job.type, messageID: stage.messageID, at: now, by: author, sender: sender)
    envelope.firstAttemptAt = job.firstAttemptAt ?? startedAt
    // The broker replaces it by the requester's own channel; the pseudo-queue itself would be a channel of ours.
    envelope.replyTo = job.replyTo == Topology.Queues.directReplyTo ? nil : job.replyTo
    var message = envelope.message(body: stage.body)
    message.headers[WorkerHeader.jobID] = .string(jobID)
    return Publication(message: message, exchange: Topology.Exchanges.jobs, routingKey: queue)
  }
}
