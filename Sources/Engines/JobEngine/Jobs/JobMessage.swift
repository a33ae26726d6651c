public import CountersignMessages
public import CountersignTelemetry

/// The envelope of a job, as far as a handler needs it.
public struct JobMessage: Sendable {
  /// The sender's ID of the message: the idempotency key, which also binds sealed fields.
  public var messageID: String
  /// Type and version: `sms.dispatch.v1`.
  public var messageType: MessageType
  /// The broker user that first sent it, before any republishing.
  public var sender: String
  /// The verification or operation, or the sender's own correlation ID.
  public var correlationID: String?
  /// The number of this attempt, from 1.
  public var attempt: Int
  /// The job of which this message is a further stage, as the message itself states (`NextStage`).
  public var stageOf: String?
  /// Time at which the engine took the message up.
  public var receivedAt: UnixTime
  /// The trace that the job belongs to.
  public var trace: TraceContext?

  public init(
    messageID: String, messageType: MessageType, sender: String = SenderRule.unnamed, correlationID: String? = nil,
    attempt: Int = 1, stageOf: String? = nil, receivedAt: UnixTime, trace: TraceContext? = nil
  ) {
    self.messageID = messageID
    self.messageType = messageType
    self.sender = sender
    self.correlationID = correlationID
    self.attempt = attempt
    self.stageOf = stageOf
    self.receivedAt = receivedAt
    self.trace = trace
  }
}
