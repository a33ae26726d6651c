import AMQP
import Messages
import Telemetry

/// Makes dead letters.
struct DeadLetterWriter: Sendable {
  /// The queue that the message failed on.
  let queue: String

  /// The message as it was, with the reason in its headers.
  func publication(_ message: Message, _ problem: ContractProblem, now: UnixTime) -> Publication {
    let letter = message.deadLetter(problem.code.rawValue, problem.description, queue: queue, now: now)
    return Publication(message: letter, exchange: Topology.Exchanges.dead, routingKey: queue)
  }
}
