public import CountersignTelemetry

/// A worker's report of what became of a job.
///
/// Its type is that of the job with `.result`, and its `message_id` that of the job with `.result`, so that a result that is
/// published twice can be told to be the same.
public struct JobResult: Sendable, Hashable {
  /// The job's `message_id`.
  public var jobID: String
  public var outcome: JobOutcome
  /// The lane that it took; absent when it took none.
  public var lane: String?
  /// The provider's own ID of what it took.
  public var reference: String?
  /// Why it was not accepted.
  public var reason: Reason?
  /// How often it was tried, 0 when no provider was asked.
  public var attempts: Int
  public var startedAt: UnixTime
  public var finishedAt: UnixTime
  /// What the job's type adds, for an SMS `segments` and `encoding`: further fields of the same JSON object.
  public var extras: [String: Value]

  public init(
    jobID: String, outcome: JobOutcome, lane: String? = nil, reference: String? = nil, reason: Reason? = nil,
    attempts: Int, startedAt: UnixTime, finishedAt: UnixTime, extras: [String: Value] = [:]
  ) {
    self.jobID = jobID
    self.outcome = outcome
    self.lane = lane
    self.reference = reference
    self.reason = reason
    self.attempts = attempts
    self.startedAt = startedAt
    self.finishedAt = finishedAt
    self.extras = extras
  }

  /// Why a job was not accepted.
  public struct Reason: Codable, Sendable, Hashable {
    /// Upper case with underscores: `INVALID_NUMBER`.
    public var code: String
    /// One sentence for people.
    public var detail: String?
    /// The provider's own code as it came.
    public var providerCode: String?

    public init(code: String, detail: String? = nil, providerCode: String? = nil) {
      self.code = code
      self.detail = detail
      self.providerCode = providerCode
    }
  }

  /// A value that a job's type adds: a scalar of JSON.
  public enum Value: Sendable, Hashable {
    case string(String)
    case int(Int)
    case double(Double)
    case bool(Bool)

    /// A number of either kind: in JSON 1.0 is 1.
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
  /// The type of the results of a job type: `sms.dispatch.result.v1` for `sms.dispatch.v1`.
  public static func type(ofJob job: MessageType) -> MessageType {
    MessageType(job.name + ".result", version: job.version)
  }

  /// The routing key on the exchange of the results: `sms.dispatch.accepted`, and `sms.bulk.accepted` for a job that waited in that queue.
  /// - Parameter queue: The queue that the job was taken from, which but for `sms.bulk` has the name of the job's type.
  public static func routingKey(queue: String, outcome: JobOutcome) -> String {
    "\(queue).\(outcome.rawValue)"
  }

  /// The `message_id` of the result of a job.
  public static func messageID(jobID: String) -> String {
    jobID + ".result"
  }

  /// Reads the body of a result.
  /// - Throws: what is wrong and in which field, never the value.
  public init(json: [UInt8]) throws(ContractProblem) {
    if let plain = PlainJSON(json), let result = Self(plain) {
      self = result
    } else {
      self = try ContractJSON.decode(Self.self, from: json)
    }
  }

  /// The body as UTF-8 JSON.
  /// - Throws: ``ContractProblem/Code-swift.struct/bodyTooLarge``.
  public func json() throws(ContractProblem) -> [UInt8] {
    try ContractJSON.encode(self)
  }
}
