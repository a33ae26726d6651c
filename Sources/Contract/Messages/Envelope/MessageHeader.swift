import CountersignTelemetry

/// Headers of the contract.
public enum MessageHeader {
  /// Number of the attempt, a whole number from 1. Absent on the first.
  public static let attempt = "x-attempt"
  /// Start of the first attempt, RFC 3339.
  public static let firstAttemptAt = "x-first-attempt-at"
  /// Error of the previous attempt.
  public static let lastError = "x-last-error"
  /// Earliest time of the next attempt of a delayed job, RFC 3339. For people: workers do not read it.
  public static let nextAttemptAt = "x-next-attempt-at"
  /// W3C Trace Context.
  public static let traceparent = "traceparent"
  /// `message_id` of the message that caused this one.
  public static let causationID = "x-causation-id"
  /// First sender of a message that was published again. See ``SenderRule``.
  public static let sender = "x-sender"
  /// Reason of a dead letter, a word in upper case.
  public static let deadReason = "x-dead-reason"
  /// Queue on which a dead letter failed.
  public static let deadQueue = "x-dead-queue"
  /// Time of a dead letter, RFC 3339.
  public static let deadAt = "x-dead-at"

  /// Headers with texts of any form. The others are read by rules of their own.
  static let texts = [lastError, causationID, sender]

  /// Text cut to ``MessageLimits/maxHeaderTextBytes``, never in the middle of a Unicode scalar.
  public static func bounded(_ text: String) -> String {
    guard text.utf8.count > MessageLimits.maxHeaderTextBytes else { return text }
    return text.cut(toBytes: MessageLimits.maxHeaderTextBytes - ellipsis.utf8.count) + ellipsis
  }

  private static let ellipsis = "…"
}
