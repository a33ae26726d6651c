public import CountersignMessages
public import CountersignTelemetry

/// One attempt to prove that somebody holds a phone number.
///
/// A plain value without I/O: ``apply(_:at:under:)`` takes what happened and returns what to do. Its owner loads it,
/// applies, stores it together with what goes out, and only then acts. Nothing here is secret in the clear: of the code
/// there is only ``CodeAtRest``.
public struct PhoneVerification: Sendable, Hashable, Codable {
  /// See `VerificationID`.
  public let id: String
  public let app: String
  /// E.164.
  public let phoneNumber: String
  /// The region of the number (`US`), or its calling code (`+883`) where it belongs to no region.
  public let region: String
  /// Whether the number is one of the app's fictional numbers: nothing is sent, the code is fixed.
  public let isTestNumber: Bool
  /// Purpose of the code.
  public let purpose: VerificationPurpose
  /// For whom, where the purpose has it.
  public let subject: String?
  public let code: CodeAtRest
  public let createdAt: UnixTime
  /// Whether its command had waited for so long that whoever asked may have gone: that no code comes back tells nothing then.
  public let askedLate: Bool

  /// Stands for who asked for it, under the pepper; empty for nobody in particular.
  public internal(set) var requester: [UInt8]
  /// Stands for who asked, where askers must not choose who they are; see ``SubjectKeeper/source(of:)``. Empty for nobody in particular.
  public internal(set) var source: [UInt8]
  public internal(set) var state: VerificationState
  /// The language of the message, BCP 47.
  public internal(set) var languageCode: String?
  /// The code is valid before this time.
  public internal(set) var expiresAt: UnixTime
  /// The code is sent again to those who ask from this time on.
  public internal(set) var resendAfter: UnixTime
  /// When it reached its final state.
  public internal(set) var endedAt: UnixTime?
  /// How many checks were begun.
  public internal(set) var checks: Int
  /// What is known of each message; the first has number 1.
  public internal(set) var messages: [MessageProgress]
  public internal(set) var failure: VerificationFailure?
  public internal(set) var timeline: Timeline
  /// Handles of other requesters.
  var handles = HandleSet()

  /// What is known of one message.
  public enum MessageProgress: String, Sendable, Codable, CaseIterable {
    /// No worker has reported on it.
    case outstanding
    case accepted, refused, expired, unknown
    /// As its provider reports.
    case delivered, undelivered

    /// Whether somebody may have received it, or still may.
    var mayArrive: Bool {
      switch self {
      case .outstanding, .accepted, .unknown, .delivered: true
      case .refused, .expired, .undelivered: false
      }
    }
  }

  /// A verification that has not begun: apply ``VerificationEvent/started`` next.
  public init(
    id: String, app: String, phoneNumber: String, region: String, languageCode: String?, isTestNumber: Bool,
    purpose: VerificationPurpose = .signIn, subject: String? = nil, requester: [UInt8] = [], code: CodeAtRest,
    askedLate: Bool = false, at now: UnixTime, under policy: VerificationPolicy
  ) {
    self.id = id
    self.app = app
    self.phoneNumber = phoneNumber
    self.region = region
    self.isTestNumber = isTestNumber
    self.purpose = purpose
    self.subject = subject
    self.requester = requester
    source = []
    self.code = code
    self.askedLate = askedLate
    self.languageCode = languageCode
    createdAt = now
    state = .pending
    expiresAt = now + policy.lifetime
    resendAfter = now
    checks = 0
    messages = []
    timeline = Timeline()
  }

  /// Everything at once, for the store.
  init(
    id: String, app: String, phoneNumber: String, region: String, languageCode: String?, isTestNumber: Bool,
    purpose: VerificationPurpose, subject: String?, requester: [UInt8], source: [UInt8], code: CodeAtRest,
    askedLate: Bool,
    createdAt: UnixTime, state: VerificationState, expiresAt: UnixTime, resendAfter: UnixTime, endedAt: UnixTime?,
    checks: Int, messages: [MessageProgress], failure: VerificationFailure?, timeline: Timeline, handles: HandleSet
  ) {
    self.id = id
    self.app = app
    self.phoneNumber = phoneNumber
    self.region = region
    self.languageCode = languageCode
    self.isTestNumber = isTestNumber
    self.purpose = purpose
    self.subject = subject
    self.requester = requester
    self.source = source
    self.code = code
    self.askedLate = askedLate
    self.createdAt = createdAt
    self.state = state
    self.expiresAt = expiresAt
    self.resendAfter = resendAfter
    self.endedAt = endedAt
    self.checks = checks
    self.messages = messages
    self.failure = failure
    self.timeline = timeline
    self.handles = handles
  }

  /// Whether a code can be checked at this time.
  public func isLive(at now: UnixTime) -> Bool {
    state.isLive && now < expiresAt
  }

  /// Whether asking again at this time sends another message.
  public func isResendDue(at now: UnixTime, under policy: VerificationPolicy) -> Bool {
    isLive(at: now) && !isTestNumber && messages.count < VerificationPolicy.maxMessages && isGapOver(at: now, policy)
  }

  /// A gap that is longer than gaps are belongs to a clock that has been set back: nobody has to wait for it to catch up.
  private func isGapOver(at now: UnixTime, _ policy: VerificationPolicy) -> Bool {
    now >= resendAfter || resendAfter - now > policy.gap(afterMessage: messages.count)
  }
  /// Whether its code could be sent again at this time, and would be over before it was typed in.
  public func isTooOldToResend(at now: UnixTime, under policy: VerificationPolicy) -> Bool {
    isResendDue(at: now, under: policy) && createdAt + policy.maximumLifetime < now + policy.shortestResend
  }
}
