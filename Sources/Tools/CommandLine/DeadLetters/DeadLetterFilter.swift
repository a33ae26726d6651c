import CountersignAMQP
import CountersignTelemetry

/// Selection of dead letters.
struct DeadLetterFilter: Sendable, Hashable {
  /// IDs as the list shows them. Empty means any.
  var ids: [String] = []
  /// Reason, compared without regard to case.
  var reason: String?
  /// Type of the message, with or without its version.
  var type: String?
  /// Latest time of dead-lettering.
  var diedBefore: UnixTime?

  /// Whether it selects every dead letter.
  var isEmpty: Bool { ids.isEmpty && reason == nil && type == nil && diedBefore == nil }

  /// Whether it selects a dead letter. A letter without a time never matches ``diedBefore``.
  func matches(_ letter: DeadLetter) -> Bool {
    if !ids.isEmpty, !ids.contains(letter.id) { return false }
    if let reason, letter.reason.uppercased() != reason.uppercased() { return false }
    if let type, letter.message.type != type, letter.message.type?.hasPrefix("\(type).v") != true { return false }
    if let diedBefore {
      guard let diedAt = letter.diedAt, diedAt < diedBefore else { return false }
    }
    return true
  }
}
