import CrashMarks

/// Remaining work for a delivery after its transaction.
struct Conclusion: Sendable {
  /// The answer, if the sender requested one.
  var reply: OutgoingMessage?
  /// Reason to dead-letter the delivery, if any.
  var dead: DeadReason?
  var tally = Tally()
  /// The command whose jobs go out after its reply; see ``HeldJobs``.
  var holder: String?
  /// Label of the metrics.
  var label: CommandLabel?

  static let nothing = Conclusion()
}

/// Reason that a message could not be processed.
struct DeadReason: Sendable, Hashable {
  /// A word in capitals.
  var code: String
  /// For people; without secrets.
  var text: String

  /// The process died each time it worked on the message alone.
  static let crashed = DeadReason(
    code: CrashMarks.reason,
    text: "the process ended \(MarkPlan.maxDeaths) times while it worked on nothing but this message")
}

/// Labels of a command in the metrics.
struct CommandLabel: Sendable, Hashable {
  /// `verification.start`, or `unknown`.
  var command: String
  /// `OK`, or the code of the error.
  var code: String
}
