public import CountersignMessages
public import CountersignTelemetry

/// One call of a provider, as its handler sees it.
public struct JobAttempt: Sendable {
  /// Sender and message ID of the job. The ID is the same on every attempt, but another sender may use it for another
  /// job.
  public var job: MessageIdentity
  /// The sender's correlation ID. The verification ID, for the coordinator's jobs.
  public var correlationID: String?
  /// The number of this attempt, from 1.
  public var number: Int
  /// Time after which the job is worthless.
  public var deadline: UnixTime
  /// Maximum duration of the call, from now. It ends before the deadline does.
  public var timeout: Duration
  /// Start of the call.
  public var startedAt: UnixTime
  /// Earlier calls of this job with an unknown end. The provider may have seen this job before.
  public var unknownCalls: Int
  /// The trace that the job belongs to.
  public var trace: TraceContext?

  public init(
    job: MessageIdentity, correlationID: String? = nil, number: Int = 1, deadline: UnixTime, timeout: Duration,
    startedAt: UnixTime, unknownCalls: Int = 0, trace: TraceContext? = nil
  ) {
    self.job = job
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
  /// The job's message ID: a reference or idempotency key for providers that accept one.
  public var jobID: String { job.messageID }
}
