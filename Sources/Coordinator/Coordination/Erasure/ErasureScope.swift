import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Scope of `number.forget`: everything about a number for operators. For `accounts`, whose account may have had the
/// number in one project only, and no longer, what is older than the account's end.
struct ErasureScope: Sendable, Hashable {
  /// E.164.
  let number: String
  private let startedBefore: UnixTime?
  private let apps: Set<String>?
  let keepsLimits: Bool

  private static let maxApps = 200
  /// AMQP keeps whole seconds of the time at which a command was sent.
  private static let unitOfTimestamp = Duration.seconds(1)

  /// A command that waited for the end of an outage erases nothing that began since it was sent.
  init(
    _ command: ForgetNumber, number: String, _ envelope: Envelope, _ rules: CoordinatorRules
  ) throws(APIError) {
    self.number = number
    startedBefore = command.startedBefore.map { time in
      envelope.timestamp.map { min(time, $0 + Self.unitOfTimestamp) } ?? time
    }
    apps = command.apps.map { Set($0) }
    keepsLimits = command.keepsLimits ?? false
    guard command.apps?.count ?? 0 <= Self.maxApps else {
      throw APIError(.invalidArgument, "apps has more than \(Self.maxApps)", field: "apps")
    }
    let isOfAccounts = envelope.userID == Topology.Users.accounts && isNarrow
    guard isOfAccounts || envelope.userID.map(rules.operators.contains) ?? false else { throw .notToForget }
  }

  /// Recorded replies stay then: what they are about cannot be told apart, and a retried check of any project needs its
  /// own.
  var isNarrow: Bool { startedBefore != nil && apps != nil && keepsLimits }

  /// Parts of a fingerprint. The apps of a narrow one are none: accounts names those that the project has at the time,
  /// and repeats the command for a week.
  var parts: [String] {
    [startedBefore?.rfc3339 ?? "", keepsLimits ? "keepsLimits" : ""] + (isNarrow ? [] : (apps ?? []).sorted())
  }

  /// One that cannot be read goes when all do, without a word to its requesters. Otherwise its retention ends it.
  func includes(_ verification: PhoneVerification?) -> Bool {
    guard let verification else { return startedBefore == nil && apps == nil }
    return includes(verification.app, since: verification.createdAt)
  }

  func includes(_ assessment: Assessment?) -> Bool {
    guard let assessment else { return startedBefore == nil && apps == nil }
    return includes(assessment.command.app, since: assessment.createdAt)
  }

  private func includes(_ app: String, since: UnixTime) -> Bool {
    (startedBefore.map { since < $0 } ?? true) && (apps?.contains(app) ?? true)
  }
}

extension APIError {
  fileprivate static let notToForget = APIError(
    .operationNotAllowed,
    "a number is forgotten for users of the broker that 'operators' in the configuration of the coordinator names, and for accounts with startedBefore, apps and keepsLimits: send it as one of them, with user_id set",
    field: "user_id")
}
