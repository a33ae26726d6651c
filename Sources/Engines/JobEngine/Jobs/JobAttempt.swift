public import CountersignMessages
public import CountersignTelemetry

/// One call of a provider, as its handler sees it.
public struct JobAttempt: Sendable {
  /// The job's message ID: a reference or idempotency key for providers that take one. The same on every attempt.
  public var jobID: String
  /// The user of the broker that sent the job. Another one may use the same ID for another job.
  public var sender: String
  /// What the sender wants back; the verification ID, for the coordinator's jobs.
  public var correlationID: String?
  /// The number of this attempt, from 1.
  public var number: Int
  /// When the job is worth nothing any more.
  public var deadline: UnixTime
  /// How long the call may take in all, from now; it ends before the deadline does.
  public var timeout: Duration
  /// When the call began.
  public var startedAt: UnixTime
  /// Earlier calls of this job of which nobody knows how they ended. What is new to the provider with the first call may not be with
  /// this one.
  public var unknownCalls: Int
  /// The trace that the job belongs to.
  public var trace: TraceContext?

  /// - Parameters:
  ///   - jobID: The job's message ID.
  ///   - sender: The user of the broker that sent the job.
  ///   - correlationID: What the sender wants back.
  ///   - number: The number of this attempt, from 1.
  ///   - deadline: When the job is worth nothing any more.
  ///   - timeout: How long the call may take in all, more than zero.
  ///   - startedAt: When the call began.
  ///   - unknownCalls: Earlier calls of which nobody knows how they ended.
  ///   - trace: The trace that the job belongs to.
  public init(
    jobID: String, sender: String = SenderRule.unnamed, correlationID: String? = nil, number: Int = 1,
    deadline: UnixTime, timeout: Duration,
    startedAt: UnixTime, unknownCalls: Int = 0, trace: TraceContext? = nil
  ) {
    self.jobID = jobID
    self.sender = sender
    self.correlationID = correlationID
    self.number = number
    self.deadline = deadline
    self.timeout = timeout
    self.startedAt = startedAt
    self.unknownCalls = unknownCalls
    self.trace = trace
  }
}

extension JobAttempt {
  /// Sender and ID of the job.
  public var identity: MessageIdentity { MessageIdentity(sender: sender, messageID: jobID) }
}
