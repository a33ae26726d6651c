public import CountersignMessages
public import CountersignTelemetry

/// The envelope of a job, as far as a handler needs it.
public struct JobMessage: Sendable {
  /// The sender's ID of the message: the idempotency key, and what a sealed field is bound to.
  public var messageID: String
  /// Type and version: `sms.dispatch.v1`.
  public var messageType: MessageType
  /// The user of the broker that sent it, whoever has published it again since.
  public var sender: String
  /// The verification or operation, or what the sender wants back.
  public var correlationID: String?
  /// The number of this attempt, from 1.
  public var attempt: Int
  /// The job of which this message is a further stage, as the message itself says (`NextStage`).
  public var stageOf: String?
  /// When the engine took the message up.
  public var receivedAt: UnixTime
  /// The trace that the job belongs to.
  public var trace: TraceContext?

  /// - Parameters:
  ///   - messageID: The sender's ID of the message.
  ///   - messageType: Type and version.
  ///   - sender: The user of the broker that sent it.
  ///   - correlationID: What the sender wants back.
  ///   - attempt: The number of this attempt, from 1.
  ///   - stageOf: The job of which this message is a further stage.
  ///   - receivedAt: When the engine took the message up.
  ///   - trace: The trace that the job belongs to.
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
