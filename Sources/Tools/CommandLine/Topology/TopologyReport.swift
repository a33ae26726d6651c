/// Result of a comparison of the broker with the declaration has found.
struct TopologyReport: Sendable, Equatable {
  var differences: [TopologyDifference]
  /// State that is as it may be, and worth knowing.
  var notes: [String] = []
  /// Reason for which the users were not compared, and who can; nil when they were, or were not to be.
  var unchecked: String?

  /// RabbitMQ shows users and rights to administrators alone; with `monitoring` and `policymaker` it refuses.
  static let needsAdministrator =
    "users, rights and limits were not compared, because RabbitMQ shows them to administrators only; an administrator runs: countersign --management https://ADMINISTRATOR@HOST:15671 topology check"
}
