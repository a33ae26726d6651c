import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import SQLite

/// Handles the queue of the commands.
struct CommandQueue: BatchQueue {
  typealias Prepared = CommandRequest

  private let decoder: CommandDecoder
  private let handler: CommandHandler
  private let metrics: CoordinatorMetrics
  private let senders: SenderRule

  /// - Parameter user: the coordinator's own user of the broker, which consumes the queue.
  init(decoder: CommandDecoder, handler: CommandHandler, metrics: CoordinatorMetrics, user: String) {
    senders = .queue(consumedBy: user)
    self.decoder = decoder
    self.handler = handler
    self.metrics = metrics
  }

  var queue: String { Topology.Queues.commands }

  func sender(of message: Message) -> String { senders.sender(of: message) }

  func prepare(_ delivery: Delivery, at now: UnixTime) -> PreparedDelivery<CommandRequest> {
    prepare(delivery, at: now, isNew: true)
  }

  func prepareAgain(_ delivery: Delivery, at now: UnixTime) -> PreparedDelivery<CommandRequest> {
    prepare(delivery, at: now, isNew: false)
  }

  private func prepare(_ delivery: Delivery, at now: UnixTime, isNew: Bool) -> PreparedDelivery<CommandRequest> {
    var envelope: Envelope
    do throws(ContractProblem) {
      envelope = try Envelope(delivery)
      try envelope.expect(CommandDecoder.types)
      envelope = envelope.resolved(sender: senders.sender(of: envelope))
      try ReplyAddress.check(envelope.replyTo, of: envelope.identity.sender)
    } catch {
      return .done(refuse(delivery, error, at: now))
    }
    // The wait for the store is unrelated to the sender's clock.
    if isNew { metrics.noteSkew(of: envelope, at: now) }
    do throws(APIError) {
      let request = try decoder.prepare(envelope, body: delivery.message.body, at: now)
      return switch request.order {
      case .look: .look(request)
      case .change: .transaction(request)
      }
    } catch {
      return .done(refuse(delivery, envelope, error, at: now))
    }
  }

  func process(
    _ prepared: CommandRequest, in transaction: CoordinatorTransaction
  ) throws(DatabaseError) -> Conclusion {
    guard let answer = try handler.handle(prepared, in: transaction) else {
      let label = CommandLabel(command: prepared.envelope.type.name, code: Self.deferred)
      return Conclusion(label: label)
    }
    var conclusion = conclude(prepared.envelope, answer, at: transaction.now)
    // A refused command holds nothing back, and the jobs of a redelivered one may be released already: neither costs a
    // further transaction.
    if case .change(.verifyApp) = prepared.order {
      let command = prepared.envelope.identity.key
      if try transaction.holdsJobs(of: command) { conclusion.holder = command }
    }
    return conclusion
  }

  func giveUp(_ prepared: CommandRequest, at now: UnixTime) -> Conclusion {
    var conclusion = conclude(prepared.envelope, CommandAnswer(.notStored), at: now)
    conclusion.dead = DeadReason(code: "INTERNAL_ERROR", text: "the command cannot be stored")
    return conclusion
  }

  func crashed(_ delivery: Delivery, at now: UnixTime) -> Conclusion {
    let message = delivery.message
    let reply = message.answerAddress(for: sender(of: message)).map { replyTo in
      ReplyMaker.reply(
        CommandAnswer(.crashed), to: replyTo, messageID: message.messageID ?? MessageID.make(),
        correlationID: message.correlationID, trace: nil, at: now)
    }
    return Conclusion(
      reply: reply, dead: .crashed,
      label: CommandLabel(command: "unknown", code: APIError.crashed.code.rawValue))
  }

  /// Label of a command that is answered later.
  private static let deferred = "DEFERRED"

  // MARK: Answers

  private func conclude(_ envelope: Envelope, _ answer: CommandAnswer, at now: UnixTime) -> Conclusion {
    Conclusion(
      reply: envelope.replyTo.map {
        ReplyMaker.reply(
          answer, to: $0, messageID: envelope.messageID, correlationID: envelope.correlationID, trace: envelope.trace,
          at: now)
      },
      label: CommandLabel(command: envelope.type.name, code: answer.metricCode))
  }

  /// Refuses a command that was read and is wrong. Without a reply address, it is kept for operators.
  private func refuse(_ delivery: Delivery, _ envelope: Envelope, _ error: APIError, at now: UnixTime) -> Conclusion {
    var conclusion = conclude(envelope, CommandAnswer(error), at: now)
    if conclusion.reply == nil { conclusion.dead = DeadReason(code: error.code.rawValue, text: error.message) }
    return conclusion
  }

  /// Refuses a message that is not a command.
  private func refuse(_ delivery: Delivery, _ problem: ContractProblem, at now: UnixTime) -> Conclusion {
    let error = APIError(problem)
    let message = delivery.message
    let label = CommandLabel(command: "unknown", code: error.code.rawValue)
    guard let replyTo = message.answerAddress(for: sender(of: message)) else {
      return Conclusion(dead: DeadReason(code: problem.code.rawValue, text: problem.description), label: label)
    }
    let answer = ReplyMaker.reply(
      CommandAnswer(error), to: replyTo, messageID: message.messageID ?? MessageID.make(),
      correlationID: message.correlationID, trace: nil, at: now)
    return Conclusion(reply: answer, label: label)
  }
}

extension Envelope {
  /// The envelope of a command with its original sender in `userID`, whoever republished it: rights and identity go by
  /// the sender.
  func resolved(sender: String) -> Envelope {
    var copy = self
    copy.userID = sender == SenderRule.unnamed ? nil : sender
    copy.statedSender = nil
    return copy
  }

  /// Identity of a command whose sender is resolved.
  var identity: MessageIdentity {
    MessageIdentity(sender: userID ?? SenderRule.unnamed, messageID: messageID)
  }
}
