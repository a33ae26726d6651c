import CountersignEncoding
public import CountersignTelemetry

/// A worker's report of a job's outcome.
///
/// Its type and its `message_id` are those of the job with `.result`, so that a result that is published twice is
/// recognized.
public struct JobResult: Sendable, Hashable {
  /// The job's `message_id`.
  public var jobID: String
  public var outcome: JobOutcome
  /// Lane that took the job, if one did.
  public var lane: String?
  /// The provider's ID.
  public var reference: String?
  /// Reason of an outcome other than `accepted`.
  public var reason: Reason?
  /// Number of attempts, 0 if no provider was called.
  public var attempts: Int
  public var startedAt: UnixTime
  public var finishedAt: UnixTime
  /// Fields that the job's type adds to the JSON object, for an SMS `segments` and `encoding`.
  public var extras: [String: Value]

  public init(
    jobID: String, outcome: JobOutcome, lane: String? = nil, reference: String? = nil, reason: Reason? = nil,
    attempts: Int, startedAt: UnixTime, finishedAt: UnixTime
  ) {
    self.jobID = jobID
    self.outcome = outcome
    self.lane = lane
    self.reference = reference
    self.reason = reason
    self.attempts = attempts
    self.startedAt = startedAt
    self.finishedAt = finishedAt
    extras = [:]
  }

  /// The same result with fields that the job's type adds.
  public func adding(_ extras: [String: Value]) -> JobResult {
    var result = self
    result.extras.merge(extras) { _, new in new }
    return result
  }

  /// Reason of an outcome other than `accepted`.
  public struct Reason: Codable, Sendable, Hashable {
    /// Upper case with underscores: `INVALID_NUMBER`.
    public var code: String
    /// One sentence for people.
    public var detail: String?
    /// The provider's code, unchanged.
    public var providerCode: String?

    public init(code: String, detail: String? = nil, providerCode: String? = nil) {
      self.code = code
      self.detail = detail
      self.providerCode = providerCode
    }
  }

  /// Value that a job's type adds: a scalar of JSON.
  public enum Value: Sendable, Hashable {
    case string(String)
    case int(Int)
    case double(Double)
    case bool(Bool)

    /// The value as a number, whole or not: in JSON 1.0 is 1.
    public var number: Double? {
      switch self {
      case .int(let number): Double(number)
      case .double(let number): number
      case .string, .bool: nil
      }
    }
  }
}

extension JobResult {
  /// Type of the results of a job type: `sms.dispatch.result.v1` for `sms.dispatch.v1`.
  public static func type(ofJob job: MessageType) -> MessageType {
    MessageType(job.name + ".result", version: job.version)
  }

  /// Routing key on the exchange of the results: `sms.dispatch.accepted`, and `sms.bulk.accepted` for a job from that
  /// queue.
  /// - Parameters:
  ///   - queue: queue of the job: named after the job's type, except `sms.bulk`.
  ///   - outcome: outcome of the job.
  public static func routingKey(queue: String, outcome: JobOutcome) -> String {
    "\(queue).\(outcome.rawValue)"
  }

  /// `message_id` of the result of a job.
  public static func messageID(jobID: String) -> String {
    jobID + ".result"
  }

  /// Reads the body of a result.
  /// - Throws: the problem and its field, never the value.
  public init(json: [UInt8]) throws(ContractProblem) {
    self = try ContractJSON.decode(Self.self, from: json) { Self($0) }
  }

  /// The body as UTF-8 JSON.
  /// - Throws: ``ContractProblem/Code-swift.struct/bodyTooLarge``.
  public func json() throws(ContractProblem) -> [UInt8] {
    try ContractJSON.encode(self)
  }
}

/// Final outcome of a job, published as its result.
public enum JobOutcome: String, ContractWord {
  /// The provider accepted it.
  case accepted
  /// It will never be carried out.
  case refused
  /// Its deadline passed before it could be carried out.
  case expired
  /// It may or may not have been carried out.
  case unknown
}

/// Treatment of a job that may or may not have been carried out.
public enum OnUnknown: String, ContractWord {
  /// The outcome is `unknown`. The receiver of the result decides.
  case report
  /// The job is carried out again, a limited number of times: twice is harmless.
  case resend
}
