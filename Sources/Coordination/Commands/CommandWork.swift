import AMQP
import Database
import Messages
import Telemetry

/// The queue of the commands.
struct CommandWork: BatchWork {
  typealias Prepared = CommandRequest

  private let preparer: CommandPreparer
  private let handler: CommandHandler
  private let metrics: CoordinatorMetrics

  init(preparer: CommandPreparer, handler: CommandHandler, metrics: CoordinatorMetrics) {
    self.preparer = preparer
    self.handler = handler
    self.metrics = metrics
  }

  var queue: String { Topology.Queues.commands }

  func prepare(_ delivery: Delivery, at now: UnixTime) -> Preparation<CommandRequest> {
    let envelope: Envelope
    do throws(ContractProblem) {
      envelope = try Envelope(delivery)
      try envelope.expect(CommandPreparer.types)
    } catch {
      return .done(refuse(delivery, error, at: now))
    }
    do throws(APIError) {
      return .transaction(try preparer.prepare(envelope, body: delivery.message.body, at: now))
    } catch {
      return .done(refuse(delivery, envelope, error, at: now))
    }
  }

  func process(
    _ prepared: CommandRequest, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> Conclusion {
    let outcome = try handler.handle(prepared, in: transaction)
    var conclusion = conclude(prepared.envelope, outcome.answer, at: transaction.now)
    conclusion.tally = outcome.tally
    return conclusion
  }

  func giveUp(_ prepared: CommandRequest, at now: UnixTime) -> Conclusion {
    var conclusion = conclude(prepared.envelope, CommandAnswer(.notStored), at: now)
    conclusion.dead = DeadReason(code: "INTERNAL_ERROR", text: "the command cannot be stored")
    return conclusion
  }

  func count(_ conclusion: Conclusion, took: Duration) {
    metrics.count(conclusion.tally)
    if let label = conclusion.label { metrics.count(label, took: took) }
  }

  // MARK: Answers

  private func conclude(_ envelope: Envelope, _ answer: CommandAnswer, at now: UnixTime) -> Conclusion {
    Conclusion(
      reply: envelope.replyTo.map {
        reply(answer, to: $0, messageID: envelope.messageID, correlationID: envelope.correlationID, envelope, at: now)
      },
      label: CommandLabel(command: envelope.type.name, code: answer.error?.rawValue ?? "OK"))
  }

  /// A command that was read, and is wrong. Without anybody to tell, it is kept for people to look at.
  private func refuse(_ delivery: Delivery, _ envelope: Envelope, _ error: APIError, at now: UnixTime) -> Conclusion {
    var conclusion = conclude(envelope, CommandAnswer(error), at: now)
    if conclusion.reply == nil { conclusion.dead = DeadReason(code: error.code.rawValue, text: error.message) }
    return conclusion
  }

  /// A message that is no command.
  private func refuse(_ delivery: Delivery, _ problem: ContractProblem, at now: UnixTime) -> Conclusion {
    let error = APIError(problem)
    let message = delivery.message
    let label = CommandLabel(command: "unknown", code: error.code.rawValue)
    guard let replyTo = message.replyTo, !replyTo.isEmpty else {
      return Conclusion(dead: DeadReason(code: problem.code.rawValue, text: problem.description), label: label)
    }
    let answer = reply(
      CommandAnswer(error), to: replyTo, messageID: message.messageID ?? MessageID.make(),
      correlationID: message.correlationID, nil, at: now)
    return Conclusion(reply: answer, label: label)
  }

  private func reply(
    _ answer: CommandAnswer, to queue: String, messageID: String, correlationID: String?, _ envelope: Envelope?,
    at now: UnixTime
  ) -> OutgoingMessage {
    let id = messageID + Self.replySuffix
    return OutgoingMessage(
      duty: .reply, exchange: Topology.Exchanges.direct, routingKey: queue, type: answer.type.text,
      messageID: id.utf8.count <= MessageLimits.maxShortStringBytes ? id : MessageID.make(),
      correlationID: correlationID, causationID: messageID, traceparent: envelope?.trace?.child().traceparent,
      timestamp: now, discardAfter: nil, body: answer.body)
  }

  private static let replySuffix = ".reply"
}
