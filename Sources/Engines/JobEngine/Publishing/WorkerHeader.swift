import CountersignAMQP
import CountersignMessages
import CountersignTelemetry

/// Headers that workers write for themselves on a delayed message.
enum WorkerHeader {
  /// Time (milliseconds since 1970) before which the provider does not accept another request.
  static let notBefore = "x-not-before"
  /// Number of calls with an unknown end. Bounds resends also without a ledger.
  static let unknownCalls = "x-unknown-calls"
  static let jobID = "x-job-id"
  /// Number of times a message was delivered before it was delayed, where workers of several hosts have ledgers of
  /// their own: another one may have begun it.
  static let redeliveries = "x-redeliveries"
  /// Tokens of claims that failed, so that no call followed, and that the ledger may have recorded nonetheless.
  static let failedClaims = "x-failed-claims"
  /// RabbitMQ's count of failed deliveries on a quorum queue.
  static let deliveryCount = "x-delivery-count"

  private static let mostRedeliveries = 1_000_000
  /// An earlier one that is dropped ends with its lease.
  private static let mostFailedClaims = 8

  static func notBefore(_ message: Message) -> UnixTime? {
    message.headers[notBefore]?.intValue.map { UnixTime(milliseconds: $0) }
  }

  static func unknownCalls(_ message: Message) -> Int {
    count(unknownCalls, message)
  }

  static func failedClaims(_ message: Message) -> [Int64] {
    let text = message.headers[failedClaims]?.stringValue ?? ""
    return text.split(separator: " ", maxSplits: mostFailedClaims).prefix(mostFailedClaims).compactMap { Int64($0) }
  }

  static func value(ofFailedClaims tokens: [Int64]) -> FieldValue? {
    tokens.isEmpty ? nil : .string(tokens.suffix(mostFailedClaims).map { String($0) }.joined(separator: " "))
  }

  /// Number of earlier deliveries of a message, as far as the broker knows.
  static func redeliveries(_ delivery: Delivery) -> Int {
    let counted = count(deliveryCount, delivery.message)
    let now = delivery.isRedelivered ? max(1, counted) : counted
    return now + count(redeliveries, delivery.message)
  }

  private static func count(_ header: String, _ message: Message) -> Int {
    min(message.headers[header]?.intValue.map { Int(clamping: max(0, $0)) } ?? 0, mostRedeliveries)
  }
}
