import AMQP
import Messages
import Telemetry

/// Headers that workers write for themselves on a message that goes through a delay step.
enum WorkerHeader {
  /// Before this time (milliseconds since 1970) the provider does not want to be asked again.
  static let notBefore = "x-not-before"
  /// Calls of which nobody knows how they ended; bounds resends also where no ledger remembers.
  static let unknownCalls = "x-unknown-calls"
  /// On a further stage of a job: the job.
  static let jobID = "x-job-id"
  /// RabbitMQ's count of failed deliveries on a quorum queue.
  static let deliveryCount = "x-delivery-count"

  static func notBefore(_ message: Message) -> UnixTime? {
    message.headers[notBefore]?.intValue.map { UnixTime(milliseconds: $0) }
  }

  static func unknownCalls(_ message: Message) -> Int {
    message.headers[unknownCalls]?.intValue.map { Int(clamping: max(0, $0)) } ?? 0
  }

  /// How often a message was delivered before, as far as the broker tells.
  static func redeliveries(_ delivery: Delivery) -> Int {
    let counted = delivery.message.headers[deliveryCount]?.intValue.map { Int(clamping: max(0, $0)) } ?? 0
    return delivery.isRedelivered ? max(1, counted) : counted
  }
}
