import CountersignEncoding
public import CountersignTelemetry

/// Event `verification.sent`: a provider accepted the SMS with the code.
public struct VerificationSent: Event, Hashable {
  public static let type = MessageType("verification.sent")

  public var verificationID: String
  public var app: String
  /// E.164.
  public var phoneNumber: String
  public var sentAt: UnixTime
  /// Number of the SMS within the verification, from 1.
  public var job: Int
  /// Lane that took it.
  public var lane: String?
  /// The provider's ID of the SMS.
  public var reference: String?
  /// Absent if it is ``VerificationPurpose/signIn``.
  public var purpose: VerificationPurpose?

  public init(
    verificationID: String, app: String, phoneNumber: String, sentAt: UnixTime, job: Int, lane: String? = nil,
    reference: String? = nil, purpose: VerificationPurpose? = nil
  ) {
    self.verificationID = verificationID
    self.app = app
    self.phoneNumber = phoneNumber
    self.sentAt = sentAt
    self.job = job
    self.lane = lane
    self.reference = reference
    self.purpose = purpose
  }
}

extension VerificationSent {
  /// The body in JSON, written without the encoder. See ``JSONObjectWriter``.
  package var fastJSON: [UInt8] {
    var text = JSONObjectWriter()
    text.put("verificationID", verificationID)
    text.put("app", app)
    text.put("phoneNumber", phoneNumber)
    text.put("sentAt", sentAt)
    text.put("job", job)
    text.put("lane", lane)
    text.put("reference", reference)
    text.put("purpose", purpose?.rawValue)
    return text.finished()
  }
}

/// Event `verification.delivered`: the SMS with the code reached the handset.
public struct VerificationDelivered: Event, Hashable {
  public static let type = MessageType("verification.delivered")

  public var verificationID: String
  public var app: String
  /// E.164.
  public var phoneNumber: String
  public var deliveredAt: UnixTime
  /// Number of the SMS within the verification, from 1.
  public var job: Int
  /// Lane that took it.
  public var lane: String?
  /// The provider's ID of the SMS.
  public var reference: String?
  /// Absent if it is ``VerificationPurpose/signIn``.
  public var purpose: VerificationPurpose?

  public init(
    verificationID: String, app: String, phoneNumber: String, deliveredAt: UnixTime, job: Int, lane: String? = nil,
    reference: String? = nil, purpose: VerificationPurpose? = nil
  ) {
    self.verificationID = verificationID
    self.app = app
    self.phoneNumber = phoneNumber
    self.deliveredAt = deliveredAt
    self.job = job
    self.lane = lane
    self.reference = reference
    self.purpose = purpose
  }
}

/// Event `verification.undelivered`: the SMS with the code will not reach the handset.
///
/// The verification continues: the code may be sent again, and providers err.
public struct VerificationUndelivered: Event, Hashable {
  public static let type = MessageType("verification.undelivered")

  public var verificationID: String
  public var app: String
  /// E.164.
  public var phoneNumber: String
  public var undeliveredAt: UnixTime
  /// Number of the SMS within the verification, from 1.
  public var job: Int
  /// Lane that took it.
  public var lane: String?
  /// The provider's ID of the SMS.
  public var reference: String?
  /// Reason, if the provider gives one.
  public var reason: VerificationStatus.Failure?
  /// Absent if it is ``VerificationPurpose/signIn``.
  public var purpose: VerificationPurpose?

  /// Creates the event for signing in. For another purpose, set ``purpose``.
  public init(
    verificationID: String, app: String, phoneNumber: String, undeliveredAt: UnixTime, job: Int, lane: String? = nil,
    reference: String? = nil, reason: VerificationStatus.Failure? = nil
  ) {
    self.verificationID = verificationID
    self.app = app
    self.phoneNumber = phoneNumber
    self.undeliveredAt = undeliveredAt
    self.job = job
    self.lane = lane
    self.reference = reference
    self.reason = reason
  }
}

/// Event `verification.failed`: no SMS could be sent, or there were too many wrong codes.
public struct VerificationFailed: Event, Hashable {
  public static let type = MessageType("verification.failed")

  public var verificationID: String
  public var app: String
  /// E.164.
  public var phoneNumber: String
  public var failedAt: UnixTime
  /// Reason of the failure.
  public var failure: VerificationStatus.Failure
  /// Absent if it is ``VerificationPurpose/signIn``.
  public var purpose: VerificationPurpose?

  public init(
    verificationID: String, app: String, phoneNumber: String, failedAt: UnixTime, failure: VerificationStatus.Failure,
    purpose: VerificationPurpose? = nil
  ) {
    self.verificationID = verificationID
    self.app = app
    self.phoneNumber = phoneNumber
    self.failedAt = failedAt
    self.failure = failure
    self.purpose = purpose
  }
}

/// Event `verification.expired`: the time ran out.
public struct VerificationExpired: Event, Hashable {
  public static let type = MessageType("verification.expired")

  public var verificationID: String
  public var app: String
  /// E.164.
  public var phoneNumber: String
  public var expiredAt: UnixTime
  /// Absent if it is ``VerificationPurpose/signIn``.
  public var purpose: VerificationPurpose?

  public init(
    verificationID: String, app: String, phoneNumber: String, expiredAt: UnixTime, purpose: VerificationPurpose? = nil
  ) {
    self.verificationID = verificationID
    self.app = app
    self.phoneNumber = phoneNumber
    self.expiredAt = expiredAt
    self.purpose = purpose
  }
}
