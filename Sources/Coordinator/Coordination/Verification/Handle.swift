public import CountersignTelemetry

/// One requester's way to a code that another one asked for first: an ID of its own, guesses of its own, an end of its own.
///
/// The first requester's handle is the verification itself, so the usual one has nothing more to store.
public struct Handle: Sendable, Hashable, Codable {
  /// See `VerificationID`.
  public let id: String
  /// See ``PhoneVerification/requester``.
  public let requester: [UInt8]
  /// Whether its requester is a device that has proven itself by push.
  public internal(set) var isProven: Bool
  public let createdAt: UnixTime
  /// Number of checks that were begun.
  public internal(set) var checks = 0
  /// Absent while the code decides on it.
  public internal(set) var ending: HandleEnding?
  /// Number of times its holder canceled it and asked again; absent for never.
  var reopenings: Int?

  /// A handle that has not begun: apply ``VerificationEvent/joined(_:sends:languageCode:)`` next.
  public init(id: String, requester: [UInt8], isProven: Bool, at now: UnixTime) {
    self.id = id
    self.requester = requester
    self.isProven = isProven
    createdAt = now
  }
}

/// End of a handle whose code goes on for others.
public enum HandleEnding: String, Sendable, Codable {
  /// Its holder ended it.
  case canceled
  /// Its guesses were used up by wrong codes.
  case exhausted
}

/// Part of a verification that more than one requester asked for; empty where it was one.
struct HandleSet: Sendable, Hashable, Codable {
  /// All but the first, in the order in which they began; the first of them has number 2.
  var later: [Handle] = []
  /// End of the first handle, where its code goes on for others.
  var firstEnding: HandleEnding?
  /// See ``Handle/reopenings``; of the first.
  var firstReopenings: Int?
  /// Through which handle the code came back, where that is not the first.
  var approver: Int?
  /// Handle that asked for a message, by the message's number, where that is not the first.
  var askers: [Int: Int] = [:]

  /// Checks that were begun through any of them.
  var checks: Int { later.reduce(0) { $0 + $1.checks } }

  var isEmpty: Bool { self == HandleSet() }
}
