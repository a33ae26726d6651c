import CountersignAMQP
import CountersignMessages
import CountersignTelemetry

struct DeadLetter: Sendable, Hashable {
  let message: Message
  let queue: String

  /// For a message without one, a fingerprint of its type and body, so that it can be named.
  var id: String {
    if let id = message.messageID, !id.isEmpty { return id }
    return "body-\(fingerprint)"
  }

  /// Reason, a word in upper case: the worker's own or, for a message that the broker dead-lettered, the broker's
  /// (`REJECTED`, `EXPIRED`, `MAXLEN`, `DELIVERY_LIMIT`), or ``noQueue``.
  var reason: String {
    if let reason = message.headers[MessageHeader.deadReason]?.stringValue { return reason }
    if lastDeath["queue"]?.stringValue?.hasPrefix(Topology.Queues.retryPrefix) == true { return Self.noQueue }
    if let reason = lastDeath["reason"]?.stringValue { return reason.uppercased() }
    return "UNKNOWN"
  }

  /// Reason of a job that came back from a retry delay while its work queue, or the binding of it, was missing.
  static let noQueue = "NO_QUEUE"

  var error: String? { message.headers[MessageHeader.lastError]?.stringValue }

  var diedAt: UnixTime? {
    if let text = message.headers[MessageHeader.deadAt]?.stringValue { return UnixTime(rfc3339: text) }
    if case .timestamp(let seconds)? = lastDeath["time"] { return UnixTime(seconds: Int64(clamping: seconds)) }
    return nil
  }

  /// From 1.
  var attempts: Int {
    guard let count = message.headers[MessageHeader.attempt]?.intValue else { return 1 }
    return Int(clamping: count)
  }

  var redrives: Int {
    guard let count = message.headers[RedriveHeader.count]?.intValue else { return 0 }
    return Int(clamping: max(count, 0))
  }

  /// Newest entry of the broker's own record, the first of the list (RabbitMQ guide "Dead Letter Exchanges").
  private var lastDeath: [String: FieldValue] {
    guard case .array(let entries)? = message.headers["x-death"], case .table(let first)? = entries.first else {
      return [:]
    }
    return first
  }

  /// FNV-1a, 64 bits: identifies a message within a queue, without protection against forgery.
  private var fingerprint: String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in Array((message.type ?? "").utf8) + message.body {
      hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
    }
    return String(hash, radix: 16)
  }
}

enum RedriveHeader {
  static let id = "x-redrive-id"
  static let count = "x-redrive-count"
}
