public import Telemetry

/// One step in the life of a verification, as `verification.status` shows it.
public struct TimelineEntry: Sendable, Hashable, Codable {
  /// What happened. The raw values are part of the answer to `verification.status`.
  public enum Kind: String, Sendable, Codable {
    case started
    case smsQueued = "sms.queued"
    case smsAccepted = "sms.accepted"
    case smsRefused = "sms.refused"
    case smsExpired = "sms.expired"
    case smsUnknown = "sms.unknown"
    case wrongCode = "check.wrong"
    case approved
    case failed
    case expired
    case canceled
  }

  /// When the coordinator learnt of it.
  public var at: UnixTime
  public var kind: Kind
  /// Which message it is about, from 1.
  public var job: Int?
  public var lane: String?
  public var worker: String?
  /// The provider's own ID of the message.
  public var reference: String?
  /// The code of the reason, in capitals.
  public var reason: String?
  public var detail: String?
  public var attempts: Int?
  public var segments: Int?

  public init(at: UnixTime, kind: Kind, job: Int? = nil) {
    self.at = at
    self.kind = kind
    self.job = job
  }
}
