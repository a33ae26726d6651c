struct TopologyDifference: Sendable, Hashable, CustomStringConvertible {
  enum Remedy: Sendable, Hashable {
    /// Requests to the management API, and what they do, in the past tense.
    case apply([ManagementWrite], deed: String)
    /// A person has to decide: a change would lose messages, or undo another person's work.
    case byHand(String)
  }

  let description: String
  let remedy: Remedy

  init(_ description: String, remedy: Remedy) {
    self.description = description
    self.remedy = remedy
  }

  var isFixable: Bool { deed != nil }

  /// In the past tense. `nil` if a person has to decide.
  var deed: String? {
    if case .apply(_, let deed) = remedy { deed } else { nil }
  }

  /// Empty if a person has to decide.
  var writes: [ManagementWrite] {
    if case .apply(let writes, _) = remedy { writes } else { [] }
  }
}

struct TopologyReport: Sendable, Equatable {
  var differences: [TopologyDifference]
  var notes: [String] = []
  /// Reason why the users were not compared. `nil` if they were, or if the caller left them out.
  var unchecked: String?

  /// Reason for a user that is not an administrator: the tags `monitoring` and `policymaker` are not enough.
  static let needsAdministrator =
    "users, rights and limits were not compared, because RabbitMQ shows them to administrators only; an administrator runs: countersign --management https://ADMINISTRATOR@HOST:15671 topology check"
}
