public import CountersignTelemetry

/// One step in the life of a verification or an operation, as `verification.status` and `operation.status` show it.
public struct TimelineEntry: Sendable, Hashable, Codable {
  /// Kind of a step. The raw values are part of the answers.
  public enum Kind: String, Sendable, Codable {
    case started
    case smsQueued = "sms.queued"
    case smsAccepted = "sms.accepted"
    case smsRefused = "sms.refused"
    case smsExpired = "sms.expired"
    case smsUnknown = "sms.unknown"
    case smsDelivered = "sms.delivered"
    case smsUndelivered = "sms.undelivered"
    case wrongCode = "check.wrong"
    case approved
    case failed
    case expired
    case canceled
    case pushQueued = "push.queued"
    case pushAccepted = "push.accepted"
    case pushRefused = "push.refused"
    case pushExpired = "push.expired"
    case pushUnknown = "push.unknown"
    case proofAccepted = "proof.accepted"
    case proofRefused = "proof.refused"
    case proofMissing = "proof.missing"
    case recaptchaQueued = "recaptcha.queued"
    case recaptchaAccepted = "recaptcha.accepted"
    case recaptchaRefused = "recaptcha.refused"
    case recaptchaExpired = "recaptcha.expired"
    case recaptchaUnknown = "recaptcha.unknown"
    case revokeQueued = "revoke.queued"
    case revokeAccepted = "revoke.accepted"
    case revokeRefused = "revoke.refused"
    case revokeExpired = "revoke.expired"
    case revokeUnknown = "revoke.unknown"
    case noticeQueued = "notice.queued"
    case noticeAccepted = "notice.accepted"
    case noticeRefused = "notice.refused"
    case noticeExpired = "notice.expired"
    case noticeUnknown = "notice.unknown"
    case completed
    case revoked
  }

  /// Time at which the coordinator learned of it.
  public var at: UnixTime
  public var kind: Kind
  /// Number of the SMS that it concerns, from 1.
  public var job: Int?
  public var lane: String?
  public var worker: String?
  /// The provider's own ID of the SMS.
  public var reference: String?
  /// The code of the reason, in capitals.
  public var reason: String?
  public var detail: String?
  public var attempts: Int?
  public var segments: Int?
  /// The handle that it concerns, unless it is the first or all.
  var handle: Int?

  public init(at: UnixTime, kind: Kind, job: Int? = nil) {
    self.at = at
    self.kind = kind
    self.job = job
  }
}
