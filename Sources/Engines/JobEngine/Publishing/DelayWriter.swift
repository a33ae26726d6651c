import CountersignAMQP
import CountersignMessages
import CountersignTelemetry

struct DelayWriter: Sendable {
  let queue: String
  let userID: String

  func publication(
    _ delay: JobDelay, _ message: Message, job: Envelope, sender: String, startedAt: UnixTime, now: UnixTime,
    redeliveries: Int, failedClaims: [Int64]
  ) -> Publication {
    var copy = message.publishedAgain(by: userID, sender: sender)
    copy.headers[MessageHeader.lastError] = .string(MessageHeader.bounded(delay.reason.description))
    copy.headers[MessageHeader.nextAttemptAt] = .string(delay.nextAttempt(after: now).rfc3339)
    if delay.countsAttempt {
      copy.headers[MessageHeader.attempt] = .int(Int64(job.attempt) + 1)
      if job.firstAttemptAt == nil { copy.headers[MessageHeader.firstAttemptAt] = .string(startedAt.rfc3339) }
    }
    copy.headers[WorkerHeader.notBefore] = delay.notBefore.map { .int($0.milliseconds) }
    copy.headers[WorkerHeader.unknownCalls] = delay.unknownCalls > 0 ? .int(Int64(delay.unknownCalls)) : nil
    copy.headers[WorkerHeader.redeliveries] = redeliveries > 0 ? .int(Int64(redeliveries)) : nil
    copy.headers[WorkerHeader.failedClaims] = WorkerHeader.value(ofFailedClaims: failedClaims)
    return Publication(
      message: copy, exchange: Topology.Exchanges.retry(queue), routingKey: delay.step.rawValue)
  }
}
