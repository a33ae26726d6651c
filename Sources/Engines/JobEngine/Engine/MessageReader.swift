import CountersignAMQP
import CountersignMessages
import CountersignTelemetry

struct MessageReader<Handler: JobHandler>: Sendable {
  /// The ID of the result is the job's with a suffix, and has to be a short string of AMQP as well.
  static var maxMessageIDBytes: Int {
    MessageLimits.maxShortStringBytes - JobResult.messageID(jobID: "").utf8.count
  }

  let handler: Handler
  let senders: SenderRule

  func read(_ delivery: Delivery, now: UnixTime) throws(ContractProblem) -> IncomingJob {
    if delivery.isOversize {
      throw ContractProblem(.bodyTooLarge, "the body is larger than \(MessageLimits.maxBodyBytes) bytes")
    }
    let envelope = try Envelope(delivery.message)
    try envelope.expect([Handler.Body.type])
    let sender = senders.sender(of: envelope)
    try ReplyAddress.check(envelope.replyTo, of: sender)
    guard envelope.messageID.utf8.count <= Self.maxMessageIDBytes else {
      throw ContractProblem(
        .invalidField, field: "message_id", "is longer than \(Self.maxMessageIDBytes) bytes")
    }
    let body = try Handler.Body(json: delivery.message.body)
    let message = JobMessage(
      messageID: envelope.messageID, messageType: envelope.type, sender: sender,
      correlationID: envelope.correlationID,
      attempt: envelope.attempt, stageOf: delivery.message.headers[WorkerHeader.jobID]?.stringValue, receivedAt: now,
      trace: envelope.trace)
    let (call, prepared) = try prepare(body, message)
    var facts = prepared
    facts.attempt = envelope.attempt
    facts.notBefore = WorkerHeader.notBefore(delivery.message)
    facts.lastReason = envelope.lastError.flatMap(Reason.init(lastError:))
    facts.unknownCalls = WorkerHeader.unknownCalls(delivery.message)
    return IncomingJob(
      envelope: envelope, sender: sender, jobID: handler.jobID(of: body, message), call: call, facts: facts)
  }

  private func prepare(
    _ body: Handler.Body, _ message: JobMessage
  ) throws(ContractProblem) -> (JobCall?, JobFacts) {
    switch handler.prepare(body, of: message) {
    case .ready(let job, let facts):
      let call: JobCall = { [handler] kind, lane, attempt in
        switch kind {
        case .perform: await handler.perform(job, on: lane, attempt)
        case .lookUp: await handler.lookUp(job, on: lane, attempt)
        }
      }
      return (call, facts)
    case .refused(let reason, let extras):
      var facts = JobFacts(lanes: [], deadline: message.receivedAt)
      facts.refusal = JobFacts.Refusal(reason: reason, extras: extras)
      return (nil, facts)
    case .invalid(let problem): throw problem
    }
  }
}
