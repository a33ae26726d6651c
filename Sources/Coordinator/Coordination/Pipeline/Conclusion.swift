import CrashMarks

/// What remains to be done with a delivery after its transaction.
struct Conclusion: Sendable {
  /// The answer, if one was asked for.
  var reply: OutgoingMessage?
  /// Why the delivery goes to the dead letters, if it does.
  var dead: DeadReason?
  var tally = Tally()
  /// The command whose jobs go out when its reply has; see ``HeldJobs``.
  var holder: String?
  /// What the metrics count it under.
  var label: CommandLabel?

  static let nothing = Conclusion()
}

/// Why a message could not be processed.
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

/// How a command is counted.
struct CommandLabel: Sendable, Hashable {
  /// `verification.start`, or `unknown`.
  var command: String
  /// `OK`, or the code of the error.
  var code: String
}
