import CountersignAMQP
public import CountersignTelemetry

/// Selection of dead letters.
public struct DeadLetterFilter: Sendable, Hashable {
  /// IDs as the list shows them. Empty means any.
  public var ids: [String]
  /// Reason, compared without regard to case.
  public var reason: String?
  /// Type of the message, with or without its version.
  public var type: String?
  /// Latest time of dead-lettering.
  public var diedBefore: UnixTime?

  public init(ids: [String] = [], reason: String? = nil, type: String? = nil, diedBefore: UnixTime? = nil) {
    self.ids = ids
    self.reason = reason
    self.type = type
    self.diedBefore = diedBefore
  }

  /// Whether it selects every dead letter.
  public var isEmpty: Bool { ids.isEmpty && reason == nil && type == nil && diedBefore == nil }

  /// Whether it selects a dead letter. A letter without a time never matches ``diedBefore``.
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
