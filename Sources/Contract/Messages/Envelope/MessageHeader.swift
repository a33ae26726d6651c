import CountersignTelemetry

/// The headers of the contract.
public enum MessageHeader {
  /// Which attempt it is: a whole number from 1; absent on the first.
  public static let attempt = "x-attempt"
  /// When the first attempt began, RFC 3339.
  public static let firstAttemptAt = "x-first-attempt-at"
  /// Why the attempt before failed.
  public static let lastError = "x-last-error"
  /// W3C Trace Context.
  public static let traceparent = "traceparent"
  /// The `message_id` of the message that led to this one.
  public static let causationID = "x-causation-id"
  /// On a message that was published again: the user that sent it first. See ``SenderRule``.
  public static let sender = "x-sender"
  /// On a dead letter: what was wrong, a word in upper case.
  public static let deadReason = "x-dead-reason"
  /// On a dead letter: the queue it failed on.
  public static let deadQueue = "x-dead-queue"
  /// On a dead letter: when, RFC 3339.
  public static let deadAt = "x-dead-at"

  /// The headers that are texts of any form. The others are read by rules of their own.
  static let texts = [lastError, causationID, sender]

  /// A text cut to ``MessageLimits/maxHeaderTextBytes``, never in the middle of a Unicode scalar.
  public static func bounded(_ text: String) -> String {
    guard text.utf8.count > MessageLimits.maxHeaderTextBytes else { return text }
    return text.cut(toBytes: MessageLimits.maxHeaderTextBytes - ellipsis.utf8.count) + ellipsis
  }

  private static let ellipsis = "…"
}
