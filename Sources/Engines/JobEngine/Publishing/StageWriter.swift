import CountersignAMQP
import CountersignMessages
import CountersignTelemetry

struct StageWriter: Sendable {
  let author: Author
  /// The queue of the job, which is bound under its name.
  let queue: String

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
