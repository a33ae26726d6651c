internal import CountersignAMQP
public import CountersignTelemetry

/// Which dead letters are meant.
public struct DeadLetterFilter: Sendable, Hashable {
  /// IDs as the list shows them; any, when empty.
  public var ids: [String]
  /// The reason, compared without regard to case.
  public var reason: String?
  /// The type of the message, with or without its version.
  public var type: String?
  /// Only those that died before this time.
  public var diedBefore: UnixTime?

  public init(ids: [String] = [], reason: String? = nil, type: String? = nil, diedBefore: UnixTime? = nil) {
    self.ids = ids
    self.reason = reason
    self.type = type
    self.diedBefore = diedBefore
  }

  /// Whether every dead letter is meant.
  public var isEmpty: Bool { ids.isEmpty && reason == nil && type == nil && diedBefore == nil }

  /// Whether a dead letter is meant. One whose time is not known died before no time.
  public func matches(_ letter: DeadLetter) -> Bool {
    if !ids.isEmpty, !ids.contains(letter.id) { return false }
    if let reason, letter.reason.uppercased() != reason.uppercased() { return false }
    if let type, letter.message.type != type, letter.message.type?.hasPrefix("\(type).v") != true { return false }
    if let diedBefore {
      guard let diedAt = letter.diedAt, diedAt < diedBefore else { return false }
    }
    return true
  }
}
