public import CountersignTelemetry

/// Command `verification.status`: reads the state and the timeline of a verification.
public struct GetVerificationStatus: Command {
  public typealias Reply = VerificationStatus
  public static let type = MessageType("verification.status")

  public var verificationID: String
  /// Expected app of the verification. One of another app, purpose or subject is refused. Absent, it is not compared.
  public var app: String?
  public var purpose: VerificationPurpose?
  public var subject: String?

  public init(
    verificationID: String, app: String? = nil, purpose: VerificationPurpose? = nil, subject: String? = nil
  ) {
    self.verificationID = verificationID
    self.app = app
    self.purpose = purpose
    self.subject = subject
  }
}

/// Reply to `verification.status`: state and timeline of a verification.
public struct VerificationStatus: MessageBody {
  public static let type = MessageType("verification.state")

  public var verificationID: String
  public var app: String
  /// E.164.
  public var phoneNumber: String
  /// Absent if it is ``VerificationPurpose/signIn``.
  public var purpose: VerificationPurpose?
  public var state: State
  /// End of the code's validity.
  public var expiresAt: UnixTime
  /// Reason of a failed verification.
  public var failure: Failure?
  /// Oldest entry first.
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

  /// State of a verification. More words may be added.
  public struct State: OpenWord {
    public let rawValue: String

    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// Started, without an SMS job. A fictional number stays here until it ends.
    public static let pending = State(rawValue: "pending")
    /// An SMS job was sent. No provider is known to have accepted it.
    public static let sending = State(rawValue: "sending")
    /// A provider accepted an SMS.
    public static let sent = State(rawValue: "sent")
    /// The code came back in time.
    public static let approved = State(rawValue: "approved")
    /// No SMS could be sent, or there were too many wrong codes.
    public static let failed = State(rawValue: "failed")
    /// The time ran out.
    public static let expired = State(rawValue: "expired")
    /// The caller canceled it.
    public static let canceled = State(rawValue: "canceled")

    public static let known: [State] = [.pending, .sending, .sent, .approved, .failed, .expired, .canceled]
  }

  /// Reason of a failure.
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

  /// Entry of a timeline.
  public struct Entry: Codable, Sendable, Hashable {
    /// Time at which the coordinator learned of it.
    public var at: UnixTime
    /// `started`, `sms.queued`, `sms.delayed`, `sms.accepted`, `check.wrong`, `check.refused`, `approved`, …
    public var event: String
    /// Number of the SMS, from 1.
    public var job: Int?
    /// Lane that took the SMS.
    public var lane: String?
    /// Process that sent the SMS.
    public var worker: String?
    /// The provider's ID of the SMS.
    public var reference: String?
    /// Reason, a word in upper case.
    public var reason: String?
    /// Reason for people.
    public var detail: String?
    /// Number of attempts to send the SMS.
    public var attempts: Int?
    /// Earliest time of the next attempt, after a delay.
    public var nextAttemptAt: UnixTime?
    /// Number of parts of the SMS.
    public var segments: Int?
    /// The broker's user that checked the code: `accounts` at a sign-in.
    public var by: String?

    /// Creates an entry. Properties that few events have are set afterwards.
    public init(
      at: UnixTime, event: String, job: Int? = nil, lane: String? = nil, reference: String? = nil,
      reason: String? = nil, detail: String? = nil
    ) {
      self.at = at
      self.event = event
      self.job = job
      self.lane = lane
      self.reference = reference
      self.reason = reason
      self.detail = detail
    }
  }
}
