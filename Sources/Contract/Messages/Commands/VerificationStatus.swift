public import CountersignTelemetry

/// State of a verification, and what has happened: the reply to `verification.status`.
public struct VerificationStatus: MessageBody {
  public static let type = MessageType("verification.state")

  public var verificationID: String
  public var app: String
  /// E.164.
  public var phoneNumber: String
  /// Absent where it is ``VerificationPurpose/signIn``.
  public var purpose: VerificationPurpose?
  public var state: State
  /// When the code stops, or stopped, being valid.
  public var expiresAt: UnixTime
  /// Why it failed, when it did.
  public var failure: Failure?
  /// What has happened, the oldest first.
  public var timeline: [Entry]

  public init(
    verificationID: String, app: String, phoneNumber: String, state: State, expiresAt: UnixTime,
    failure: Failure? = nil, timeline: [Entry], purpose: VerificationPurpose? = nil
  ) {
    self.verificationID = verificationID
    self.app = app
    self.phoneNumber = phoneNumber
    self.state = state
    self.expiresAt = expiresAt
    self.failure = failure
    self.timeline = timeline
    self.purpose = purpose
  }

  /// Where it stands. More words may come.
  public struct State: OpenWord {
    public let rawValue: String

    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// Begun; no message was asked for. A fictional number stays here until it ends.
    public static let pending = State(rawValue: "pending")
    /// A message was asked for, and no provider is known to have taken one.
    public static let sending = State(rawValue: "sending")
    /// A provider took a message.
    public static let sent = State(rawValue: "sent")
    /// The code was given back in time.
    public static let approved = State(rawValue: "approved")
    /// No message could be sent, or the code was guessed at too often.
    public static let failed = State(rawValue: "failed")
    /// The time ran out.
    public static let expired = State(rawValue: "expired")
    /// The caller ended it.
    public static let canceled = State(rawValue: "canceled")

    public static let known: [State] = [.pending, .sending, .sent, .approved, .failed, .expired, .canceled]
  }

  /// Why a verification failed.
  public struct Failure: Codable, Sendable, Hashable {
    /// Upper case with underscores.
    public var code: String
    /// For people.
    public var detail: String?

    public init(code: String, detail: String? = nil) {
      self.code = code
      self.detail = detail
    }
  }

  /// One step in the life of a verification.
  public struct Entry: Codable, Sendable, Hashable {
    /// When the coordinator learnt of it.
    public var at: UnixTime
    /// What happened: `started`, `sms.queued`, `sms.accepted`, `check.wrong`, `approved`, …
    public var event: String
    /// Which message it is about, from 1.
    public var job: Int?
    /// The lane that the message took.
    public var lane: String?
    /// The process that sent the message.
    public var worker: String?
    /// The provider's own ID of the message.
    public var reference: String?
    /// Why, as a word in upper case.
    public var reason: String?
    /// Why, for people.
    public var detail: String?
    /// How often the message was tried.
    public var attempts: Int?
    /// How many parts the message was sent in.
    public var segments: Int?

    public init(
      at: UnixTime, event: String, job: Int? = nil, lane: String? = nil, worker: String? = nil,
      reference: String? = nil, reason: String? = nil, detail: String? = nil, attempts: Int? = nil,
      segments: Int? = nil
    ) {
      self.at = at
      self.event = event
      self.job = job
      self.lane = lane
      self.worker = worker
      self.reference = reference
      self.reason = reason
      self.detail = detail
      self.attempts = attempts
      self.segments = segments
    }
  }
}
