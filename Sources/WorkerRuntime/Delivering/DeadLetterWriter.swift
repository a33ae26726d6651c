import AMQP
import Messages
import Telemetry

/// Makes dead letters.
struct DeadLetterWriter: Sendable {
  /// The queue that the message failed on.
  let queue: String

  /// The message as it was, with the reason in its headers.
  func publication(_ message: Message, _ problem: ContractProblem, now: UnixTime) -> Publication {
    var copy = message.publishedAgain()
    copy.headers[MessageHeader.deadReason] = .string(problem.code.rawValue)
    copy.headers[MessageHeader.lastError] = .string(MessageHeader.bounded(problem.description))
    copy.headers[MessageHeader.deadQueue] = .string(queue)
    copy.headers[MessageHeader.deadAt] = .string(now.rfc3339)
    return Publication(message: copy, exchange: Topology.Exchanges.dead, routingKey: queue)
  }
}
