import CountersignMessages
import CountersignTelemetry
import ServiceRuntime

/// One attempt to prove possession of a phone number.
///
/// A plain value without I/O: ``apply(_:at:under:)`` takes an event and returns the actions. Its owner loads it,
/// applies the event, stores it together with the outgoing messages, and only then acts. It contains no plaintext
/// secrets: the code is held as ``CodeAtRest``.
struct PhoneVerification: Sendable, Hashable, Codable {
  let id: String
  let app: String
  /// E.164.
  let phoneNumber: String
  /// The region of the number (`US`), or its calling code (`+883`) if it belongs to no region.
  let region: String
  /// Whether the number is one of the app's fictional numbers: nothing is sent, and the code is fixed.
  let isTestNumber: Bool
  let purpose: VerificationPurpose
  let subject: String?
  let code: CodeAtRest
  let createdAt: UnixTime
  /// Whether its command had waited so long that its requester may have gone: a missing code says nothing then.
  let askedLate: Bool

  /// Hash of the requester under the pepper. Empty for an unnamed one.
  var requester: [UInt8]
  /// Hash of the asker, in a form that askers cannot choose. See ``LimitSubjects/source(of:)``. Empty for an unnamed
  /// one.
  var source: [UInt8]
  var state: VerificationState
  /// BCP 47.
  var languageCode: String?
  /// Values of the template's own variables, of the start that caused the latest SMS.
  var variables: [String: String] = [:]
  var expiresAt: UnixTime
  var resendAfter: UnixTime
  var endedAt: UnixTime?
  var checks: Int
  /// The first has number 1.
  var messages: [MessageProgress]
  var failure: VerificationFailure?
  var timeline: Timeline
  var handles = HandleSet()

  enum MessageProgress: String, Sendable, Codable, CaseIterable {
    /// No worker has reported on it.
    case outstanding
    case accepted, refused, expired, unknown
    case delivered, undelivered

    var mayArrive: Bool {
      switch self {
      case .outstanding, .accepted, .unknown, .delivered: true
      case .refused, .expired, .undelivered: false
      }
    }
  }

  /// Apply ``VerificationEvent/started`` next.
  init(
    id: String, _ key: VerificationKey, region: String, languageCode: String?, code: CodeAtRest,
    askedLate: Bool = false, at now: UnixTime, under policy: VerificationPolicy
  ) {
    self.id = id
    app = key.app
    phoneNumber = key.phoneNumber
    self.region = region
    isTestNumber = key.isTestNumber
    purpose = key.purpose
    subject = key.subject
    requester = key.requester
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

  func isLive(at now: UnixTime) -> Bool {
    state.isLive && now < expiresAt
  }
}

/// State of a phone verification.
///
/// ```
/// pending ──> sending ──> sent ──┬──> approved
///    │           │          │    ├──> failed     (too many wrong codes, or no SMS could be sent)
///    └───────────┴──────────┴────┼──> expired
///                                └──> canceled
/// ```
enum VerificationState: String, Sendable, Codable, CaseIterable {
  /// Begun. No SMS was requested. A fictional number stays here until it ends.
  case pending
  /// An SMS was requested, and none is known to have been accepted by a provider.
  case sending
  case sent
  /// The code came back in time. It is used up.
  case approved
  /// No SMS could be sent, or there were too many wrong codes.
  case failed
  case expired
  case canceled

  var isLive: Bool {
    switch self {
    case .pending, .sending, .sent: true
    case .approved, .failed, .expired, .canceled: false
    }
  }
}

struct VerificationFailure: Sendable, Hashable, Codable {
  /// A short name in capitals: ``tooManyAttempts``, ``notSentInTime``, or a worker's reason.
  var code: String
  /// Explanation for people, without secrets.
  var detail: String?

  static let tooManyAttempts = VerificationFailure(
    code: "TOO_MANY_ATTEMPTS", detail: "the code was wrong too often")

  static let notSentInTime = VerificationFailure(
    code: "NOT_SENT_IN_TIME", detail: "no provider took the message while the code was valid")

  static let codeLost = VerificationFailure(
    code: "CODE_LOST", detail: "the pepper or the fixed code that it was made with is no longer configured")
}

/// Key with at most one live verification.
struct VerificationKey: Sendable, Hashable {
  /// E.164.
  var phoneNumber: String
  var app: String
  var purpose: VerificationPurpose
  var subject: String?
  /// Whether the number is a fictional one. Each requester has a verification of its own there: without an SMS there is
  /// no shared code, and concurrent tests must not end each other's.
  var isTestNumber = false
  /// Requester, where it distinguishes verifications. Empty for a real number.
  var requester: [UInt8] = []
}

extension PhoneVerification {
  var key: VerificationKey {
    VerificationKey(
      phoneNumber: phoneNumber, app: app, purpose: purpose, subject: subject, isTestNumber: isTestNumber,
      requester: isTestNumber ? requester : [])
  }
}

/// Rules for one verification. The defaults are those of ``CoordinatorConfiguration``.
public struct VerificationPolicy: Sendable, Hashable {
  /// Digits of a code. 4 to 10.
  var codeLength = 6
  /// Time for which a code is valid after it was sent. NIST SP 800-63B allows 10 minutes at most.
  var lifetime = Duration.seconds(300)
  /// Total lifetime of a verification, however often its code is sent again.
  var maximumLifetime = Duration.seconds(600)
  /// Gaps before the same code is sent a second, third, … time. The last one repeats.
  var resendGaps: [Duration] = [.seconds(30), .seconds(60), .seconds(120)]
  /// Number of checks of a code by its first requester. All others together have as many again.
  var checksPerCode = 5

  /// Maximum number of SMS of one verification, whatever the gaps are.
  static let maxMessages = 20

  static let checksPerLaterHandle = 3

  /// Shared checks of the later handles that are reserved for devices that have proven themselves: unproven requesters
  /// cannot use these up.
  static let checksForProvenHandles = 3

  /// Maximum number of handles of a code: enough for each screen, device and network that a user may change between
  /// within ten minutes, and few enough for one row.
  static let maxHandles = 16

  /// Handles among ``maxHandles`` that are reserved for devices that have proven themselves.
  static let handlesForProven = 4

  /// Minimum remaining validity of a code that is sent again: an SMS takes some seconds to arrive, up to half a minute
  /// in busy networks, and then the code has to be read and typed in.
  static let minimumResendLifetime = Duration.seconds(60)

  func checks(ofHandle number: Int) -> Int {
    number == PhoneVerification.firstHandle ? checksPerCode : min(checksPerCode, Self.checksPerLaterHandle)
  }

  var laterChecks: Int { checksPerCode }

  var laterChecksOfAnybody: Int { max(1, laterChecks - Self.checksForProvenHandles) }

  func laterChecks(forProven isProven: Bool) -> Int { isProven ? laterChecks : laterChecksOfAnybody }
}

extension VerificationPolicy {
  static let resendGapSeconds = 0...3600

  init(_ section: ConfigurationSection) {
    self.init(
      codeLength: section.integer("codeLength", default: 6, in: 4...10, "Digits of a code."),
      lifetime: section.seconds(
        "lifetimeSeconds", default: .seconds(300), in: .seconds(1)...(.seconds(3600)),
        "How long a code is valid after it was sent."),
      maximumLifetime: section.seconds(
        "maximumLifetimeSeconds", default: .seconds(600), in: .seconds(1)...(.seconds(7200)),
        "How long a verification lives in all, however often its code is sent again."),
      resendGaps: section.integers(
        "resendGapsSeconds", default: [30, 60, 120], in: Self.resendGapSeconds,
        "How long to wait before the code is sent a second, third, … time; the last one repeats."
      ).map { .seconds($0) },
      checksPerCode: section.integer("checksPerCode", default: 5, in: 1...100, "How often a code may be checked."))
    if lifetime > maximumLifetime {
      section.problem("maximumLifetimeSeconds", "must not be below lifetimeSeconds")
    }
    if resendGaps.isEmpty { section.problem("resendGapsSeconds", "must have at least one gap") }
    if maximumLifetime > .seconds(600) {
      section.warning("maximumLifetimeSeconds", "is above 600, the longest that NIST SP 800-63B allows")
    }
  }
}
