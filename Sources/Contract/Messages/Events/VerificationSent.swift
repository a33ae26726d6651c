public import CountersignTelemetry

/// A provider took the message with the code: the event `verification.sent`.
public struct VerificationSent: Event, Hashable {
  public static let type = MessageType("verification.sent")

  public var verificationID: String
  public var app: String
  /// E.164.
  public var phoneNumber: String
  public var sentAt: UnixTime
  /// Which message of the verification it is, from 1.
  public var job: Int
  /// The lane that it took.
  public var lane: String?
  /// The provider's own ID of the message.
  public var reference: String?
  /// Absent where it is ``VerificationPurpose/signIn``.
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
  /// The body in JSON, written without the encoder; see ``JSONObjectWriter``.
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
