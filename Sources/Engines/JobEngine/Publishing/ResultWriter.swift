import CountersignAMQP
public import CountersignMessages
import CountersignTelemetry

struct ResultWriter: Sendable {
  let jobType: MessageType
  /// Queue of the jobs: the first part of the routing key.
  let queue: String
  let author: Author

  /// A job's result, bounded to fit into a message.
  func result(
    of ending: JobEnding, job: Envelope, extras: ResultExtras, startedAt: UnixTime, finishedAt: UnixTime
  ) -> JobResult {
    var result = JobResult(
      jobID: job.messageID, outcome: ending.outcome, lane: ending.lane, reference: ending.reference,
      reason: ending.reason.map(JobResult.Reason.init), attempts: ending.attempts,
      startedAt: job.firstAttemptAt ?? startedAt, finishedAt: finishedAt
    ).adding(extras).adding(ending.extras)
    guard Self.mayBeTooLarge(result), result.fastJSON.count > MessageLimits.maxBodyBytes else { return result }
    // It is larger than a message may be: only a handler's extras can be the cause.
    result.extras = [:]
    result.reference = result.reference?.cut(toBytes: Self.maxReferenceBytes)
    return result
  }

  /// Whether it may be too large, so that its length must be measured: JSON makes up to six bytes of one.
  private static func mayBeTooLarge(_ result: JobResult) -> Bool {
    let texts = result.extras.reduce(result.reference?.utf8.count ?? 0) { sum, extra in
      if case .string(let text) = extra.value { sum + extra.key.utf8.count + text.utf8.count } else { sum + 32 }
    }
    return texts > MessageLimits.maxBodyBytes / 8
  }

  /// `reply_to` was checked when the job was read.
  func publications(
    _ result: JobResult, job: Envelope, sender: String, now: UnixTime
  ) -> (result: Publication, copy: Publication?) {
    let message = message(result.fastJSON, job: job, sender: sender, now: now)
    let publication = Publication(
      message: message, exchange: Topology.Exchanges.results,
      routingKey: JobResult.routingKey(queue: queue, outcome: result.outcome), mandatory: hasListener)
    let copy = job.replyTo.map {
      Publication(message: message, exchange: Topology.Exchanges.direct, routingKey: $0)
    }
    return (publication, copy)
  }

  /// Whether the topology binds a queue to the results: not to those of a type's second queue, nor to those that are
  /// not waited for. Elsewhere a mandatory one would come back, again and again.
  private var hasListener: Bool { queue == jobType.name && !Topology.Queues.unreported.contains(queue) }

  /// `nil` for a further delay with the same reason, and where no one listens.
  func report(of delay: JobDelay, job: Envelope, sender: String, now: UnixTime) -> Publication? {
    guard hasListener, job.lastError.flatMap(Reason.init(lastError:))?.code != delay.reason.code else { return nil }
    let delayed = JobDelayed(
      jobID: job.messageID, reason: .init(delay.reason), attempts: job.attempt - (delay.countsAttempt ? 0 : 1),
      nextAttemptAt: delay.nextAttempt(after: now))
    let message = job.leading(
      to: JobDelayed.type(ofJob: jobType), messageID: MessageID.make(), at: now, by: author, sender: sender
    ).message(body: delayed.fastJSON)
    return Publication(
      message: message, exchange: Topology.Exchanges.results, routingKey: JobDelayed.routingKey(queue: queue))
  }

  /// To its reply address or, without one, with the results of the jobs, where its sender waits. `nil` without either.
  func refusal(of message: Message, _ problem: ContractProblem, sender: String, now: UnixTime) -> Publication? {
    let id = message.messageID.flatMap { $0.isEmpty ? nil : $0 }
    let replyTo = message.answerAddress(for: sender)
    let isReported = message.replyTo == nil && hasListener && id.map(Self.canNameResult) == true
    guard replyTo != nil || isReported else { return nil }
    let ending =
      problem.code == .crashed
      // A call may have been made before the process ended.
      ? JobEnding(outcome: .unknown, reason: .crashed(problem), attempts: 0)
      : JobEnding(outcome: .refused, reason: .invalidMessage(problem), attempts: 0)
    let job = Envelope(
      type: jobType, messageID: id ?? "", correlationID: message.correlationID,
      trace: message.headers[MessageHeader.traceparent]?.stringValue.flatMap(TraceContext.init(traceparent:)))
    var reply = self.message(
      result(of: ending, job: job, extras: [:], startedAt: now, finishedAt: now).fastJSON, job: job, sender: sender,
      now: now)
    if id == nil { reply.messageID = MessageID.make() }
    if let long = reply.messageID, long.utf8.count > MessageLimits.maxShortStringBytes { reply.messageID = id }
    guard let replyTo else {
      return Publication(
        message: reply, exchange: Topology.Exchanges.results,
        routingKey: JobResult.routingKey(queue: queue, outcome: ending.outcome))
    }
    return Publication(message: reply, exchange: Topology.Exchanges.direct, routingKey: replyTo)
  }

  private static func canNameResult(_ jobID: String) -> Bool {
    JobResult.messageID(jobID: jobID).utf8.count <= MessageLimits.maxShortStringBytes
  }

  private func message(_ body: [UInt8], job: Envelope, sender: String, now: UnixTime) -> Message {
    job.leading(
      to: JobResult.type(ofJob: jobType), messageID: JobResult.messageID(jobID: job.messageID), at: now, by: author,
      sender: sender
    ).message(body: body)
  }

  private static let maxReferenceBytes = 255
}

extension JobResult.Reason {
  /// The reason as a result has it.
  public init(_ reason: JobEngine.Reason) {
    self.init(
      code: reason.code, detail: MessageHeader.bounded(reason.detail), providerCode: reason.providerCode)
  }
}
