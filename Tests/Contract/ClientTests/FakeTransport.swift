import CountersignAMQP
import CountersignMessages
import Synchronization

@testable import CountersignClient

final class FakeTransport: ClientTransport {
  struct Sent: Sendable {
    let message: Message
    let exchange: String
    let routingKey: String
  }

  private let answer: @Sendable (Message) -> Result<Message, AMQPError>
  private let outcome: PublishOutcome
  private let stored = Mutex<[Sent]>([])

  init(
    outcome: PublishOutcome = .confirmed,
    answer: @escaping @Sendable (Message) -> Result<Message, AMQPError> = { _ in
      .failure(AMQPError(.timedOut, "no reply"))
    }
  ) {
    self.answer = answer
    self.outcome = outcome
  }

  convenience init(replying body: some MessageBody) {
    self.init { request in
      do {
        var envelope = try Envelope(request)
        envelope.type = type(of: body).type
        return .success(envelope.message(body: try body.json()))
      } catch {
        return .failure(AMQPError(.protocolViolation, "\(error)"))
      }
    }
  }

  var sent: [Sent] { stored.withLock { $0 } }
  var status: ConnectionStatus? { nil }

  func run() async {}
  func stop() async {}

  func request(
    _ message: Message, exchange: String, routingKey: String, timeout: Duration
  ) async throws(AMQPError) -> Message {
    try Publication(message: message, exchange: exchange, routingKey: routingKey).check(maxBodyBytes: 4 << 20)
    stored.withLock { $0.append(Sent(message: message, exchange: exchange, routingKey: routingKey)) }
    return try answer(message).get()
  }

  func publish(_ publications: [Publication], timeout: Duration) async throws(AMQPError) -> [PublishOutcome] {
    for publication in publications { try publication.check(maxBodyBytes: 4 << 20) }
    stored.withLock { sent in
      sent += publications.map { Sent(message: $0.message, exchange: $0.exchange, routingKey: $0.routingKey) }
    }
    return publications.map { _ in outcome }
  }
}
