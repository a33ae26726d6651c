public import CountersignTelemetry

/// A later requester's access to a code that another one requested first, with its own ID, guesses and end.
///
/// The first requester's handle is the verification itself, so usually nothing more is stored.
public struct VerificationHandle: Sendable, Hashable, Codable {
  /// See ``VerificationID``.
  public let id: String
  /// See ``PhoneVerification/requester``.
  public let requester: [UInt8]
  /// Whether its requester is a device that has proven itself by push.
  public internal(set) var isProven: Bool
  public let createdAt: UnixTime
  /// Number of checks begun.
  public internal(set) var checks = 0
  /// Absent while the state of the code decides.
  public internal(set) var ending: HandleEnding?
  /// Number of times its holder canceled it and requested it again; absent for none.
  var reopenings: Int?

  /// Creates a handle that has not begun: apply ``VerificationEvent/joined(_:sends:languageCode:)`` next.
  public init(id: String, requester: [UInt8], isProven: Bool, at now: UnixTime) {
    self.id = id
    self.requester = requester
    self.isProven = isProven
    createdAt = now
  }
}

/// End of a handle whose code stays valid for others.
public enum HandleEnding: String, Sendable, Codable {
  /// Its holder ended it.
  case canceled
  /// Wrong codes used up its guesses.
  case exhausted
}

/// The handles of a verification with several requesters; empty with one.
struct HandleSet: Sendable, Hashable, Codable {
  /// All handles but the first, in the order in which they began; the first of them has number 2.
  var later: [VerificationHandle] = []
  /// End of the first handle, if its code stays valid for others.
  var firstEnding: HandleEnding?
  /// ``VerificationHandle/reopenings`` of the first handle.
  var firstReopenings: Int?
  /// The handle through which the code came back, unless it is the first.
  var approver: Int?
  /// The handle that requested an SMS, by the number of the SMS, unless it is the first.
  var askers: [Int: Int] = [:]

  /// Checks begun through any of them.
  var checks: Int { later.reduce(0) { $0 + $1.checks } }

  var isEmpty: Bool { self == HandleSet() }
}
