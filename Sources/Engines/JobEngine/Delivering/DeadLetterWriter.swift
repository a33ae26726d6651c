import CountersignAMQP
import CountersignMessages
import CountersignTelemetry

/// Makes dead letters.
struct DeadLetterWriter: Sendable {
  /// The queue that the message failed on.
  let queue: String
  /// The user of the broker that publishes them.
  let userID: String

  /// The message as it was, with the reason in its headers.
  func publication(_ message: Message, _ problem: ContractProblem, sender: String, now: UnixTime) -> Publication {
    let letter = message.deadLetter(
      problem.code.rawValue, problem.description, queue: queue, now: now, by: userID, sender: sender)
    return Publication(message: letter, exchange: Topology.Exchanges.dead, routingKey: queue)
  }
}
