import CountersignAMQP
import CountersignTelemetry

struct DeadLetterFilter: Sendable, Hashable {
  /// As the list shows them. Empty means any.
  var ids: [String] = []
  /// Compared without regard to case.
  var reason: String?
  /// With or without its version.
  var type: String?
  var diedBefore: UnixTime?

  var isEmpty: Bool { ids.isEmpty && reason == nil && type == nil && diedBefore == nil }

  /// A letter without a time never matches ``diedBefore``.
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
