import CountersignMessages
import CountersignTelemetry

/// Age of a command, by the `timestamp` of its sender's clock.
///
/// Nobody waits for the answer to an old start any more: its SMS would go to somebody who has gone, use up the budgets of those who
/// ask now, and count as a code that did not come back.
enum CommandAge {
  /// AMQP keeps whole seconds, and most senders cut what is beyond: a command may have been sent up to the end of the second that its
  /// timestamp names.
  private static let unitOfTimestamp = Duration.milliseconds(999)

  /// The least age that a timestamp allows for.
  /// - Returns: `nil` without a timestamp, and with one of the future: whose clock is wrong tells nothing.
  static func least(of timestamp: UnixTime?, at now: UnixTime) -> Duration? {
    guard let timestamp, timestamp <= now else { return nil }
    return max(.zero, now - timestamp - unitOfTimestamp)
  }

  /// The requester may have gone when the command has waited for longer: apps give up after ten to thirty seconds. Clocks that NTP keeps do
  /// not differ by as much.
  private static let longestPatience = Duration.seconds(10)

  /// Whether a command has waited for so long that whoever asked may have gone.
  static func isLate(_ timestamp: UnixTime?, at now: UnixTime) -> Bool {
    least(of: timestamp, at: now).map { $0 > longestPatience } ?? false
  }

  /// Whether a command must not be carried out when it is old. All others are, however late: a check gives back a code that was sent, and a
  /// revocation has to happen.
  static func matters(to type: MessageType) -> Bool {
    type == StartVerification.type || type == VerifyApp.type
  }
}

extension APIError {
  /// - Parameters:
  ///   - age: what was measured.
  ///   - limit: see ``CoordinatorRules/maxCommandAge``.
  static func commandTooOld(_ age: Duration, limit: Duration) -> APIError {
    APIError(
      .internalError,
      "the command was sent \(age.components.seconds) s ago, and is carried out within \(limit.components.seconds) s only: send a new one; if it was not late, set the clocks of its sender and of the coordinator",
      field: "timestamp", reason: tooOld)
  }

  /// The reason of ``commandTooOld(_:limit:)``.
  static let tooOld = "COMMAND_TOO_OLD"
}
