import CountersignAMQP
import CountersignMessages
import CountersignTelemetry

/// Headers that workers write for themselves on a message that goes through a delay step.
enum WorkerHeader {
  /// Before this time (milliseconds since 1970) the provider does not want to be asked again.
  static let notBefore = "x-not-before"
  /// Calls of which nobody knows how they ended; bounds resends also where no ledger remembers.
  static let unknownCalls = "x-unknown-calls"
  /// On a further stage of a job: the job.
  static let jobID = "x-job-id"
  /// Number of times a message was delivered before it went through a delay step, where workers of several hosts have ledgers of their own:
  /// another one may have begun it.
  static let redeliveries = "x-redeliveries"
  /// RabbitMQ's count of failed deliveries on a quorum queue.
  static let deliveryCount = "x-delivery-count"

  /// Bound of a count that a message itself tells.
  private static let mostRedeliveries = 1_000_000

  static func notBefore(_ message: Message) -> UnixTime? {
    message.headers[notBefore]?.intValue.map { UnixTime(milliseconds: $0) }
  }

  static func unknownCalls(_ message: Message) -> Int {
    message.headers[unknownCalls]?.intValue.map { Int(clamping: max(0, $0)) } ?? 0
  }

  /// How often a message was delivered before, as far as the broker tells.
  static func redeliveries(_ delivery: Delivery) -> Int {
    let counted = delivery.message.headers[deliveryCount]?.intValue.map { Int(clamping: max(0, $0)) } ?? 0
    let before = delivery.message.headers[redeliveries]?.intValue.map { Int(clamping: max(0, $0)) } ?? 0
    let now = delivery.isRedelivered ? max(1, counted) : counted
    return min(now, mostRedeliveries) + min(before, mostRedeliveries)
  }
}
