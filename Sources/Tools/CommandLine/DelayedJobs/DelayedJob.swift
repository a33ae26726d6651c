import CountersignAMQP
import CountersignMessages
import CountersignTelemetry

/// A job that waits for its next attempt, as its headers tell.
struct DelayedJob: Sendable {
  let message: Message
  /// Work queue that it returns to.
  let queue: String

  /// Empty for a message without one.
  var id: String { message.messageID ?? "" }

  var error: String? { message.headers[MessageHeader.lastError]?.stringValue }

  /// Attempts so far: 0 if no provider was called.
  var attempts: Int {
    Int(clamping: max(1, message.headers[MessageHeader.attempt]?.intValue ?? 1) - 1)
  }

  /// Start of the first attempt or, without an attempt, the time at which the job was sent.
  var since: UnixTime? {
    time(MessageHeader.firstAttemptAt) ?? message.timestamp.map { UnixTime(seconds: Int64(clamping: $0)) }
  }

  /// Earliest time.
  var nextAttempt: UnixTime? { time(MessageHeader.nextAttemptAt) }

  private func time(_ header: String) -> UnixTime? {
    message.headers[header]?.stringValue.flatMap(UnixTime.init(rfc3339:))
  }
}
