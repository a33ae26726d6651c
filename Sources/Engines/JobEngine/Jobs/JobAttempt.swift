public import CountersignMessages
public import CountersignTelemetry

/// One call of a provider, as its handler sees it.
public struct JobAttempt: Sendable {
  /// The job's message ID: a reference or idempotency key for providers that accept one. The same on every attempt.
  public var jobID: String
  /// The user of the broker that sent the job. Another one may use the same ID for another job.
  public var sender: String
  /// The sender's correlation ID; the verification ID, for the coordinator's jobs.
  public var correlationID: String?
  /// The number of this attempt, from 1.
  public var number: Int
  /// Time after which the job is worthless.
  public var deadline: UnixTime
  /// Maximum duration of the call, from now; it ends before the deadline does.
  public var timeout: Duration
  /// Start of the call.
  public var startedAt: UnixTime
  /// Earlier calls of this job with an unknown end. The provider may have seen this job before.
  public var unknownCalls: Int
  /// The trace that the job belongs to.
  public var trace: TraceContext?

  /// - Parameters:
  ///   - jobID: the job's message ID.
  ///   - sender: the user of the broker that sent the job.
  ///   - correlationID: the sender's correlation ID.
  ///   - number: the number of this attempt, from 1.
  ///   - deadline: time after which the job is worthless.
  ///   - timeout: maximum duration of the call, more than zero.
  ///   - startedAt: start of the call.
  ///   - unknownCalls: earlier calls with an unknown end.
  ///   - trace: the trace that the job belongs to.
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
