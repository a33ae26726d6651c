import CountersignAMQP
public import CountersignMessages
public import CountersignTelemetry
import CrashMarks
import RecordStore

/// A command that was read, with the properties of its message. It is handed on several times, so it is shared.
final class CommandRequest: Sendable {
  /// Its user is the original sender.
  let envelope: Envelope
  let order: any CommandOrder
  let kind: CommandKind
  let key: InboxKey

  init(envelope: Envelope, order: any CommandOrder, kind: CommandKind, key: InboxKey) {
    self.envelope = envelope
    self.order = order
    self.kind = kind
    self.key = key
  }
}

/// Reads a command, looks it up in the inbox, carries it out, and records its answer, in this order for each batch.
struct CommandQueue: BatchQueue {
  private let context: EngineContext
  private let senders: SenderRule

  init(_ context: EngineContext) {
    self.context = context
    senders = .queue(consumedBy: context.author.userID)
  }

  var queue: String { context.rules.commandQueue }

  func sender(of message: Message) -> String { senders.sender(of: message) }

  // MARK: Decode

  func prepare(_ delivery: Delivery, at now: UnixTime, isNew: Bool) -> BatchStep<CommandRequest> {
    var envelope: Envelope
    let kind: CommandKind
    do throws(ContractProblem) {
      envelope = try Envelope(delivery)
      try envelope.expect(context.registry.commandTypes)
      guard let known = context.registry.commands[envelope.type] else {
        throw ContractProblem(.unknownType, field: "type", "is not a command")
      }
      kind = known
      envelope = envelope.resolved(sender: senders.sender(of: envelope))
      try ReplyAddress.check(envelope.replyTo, of: envelope.identity.sender)
    } catch {
      return .end(refuse(delivery, error, at: now))
    }
    // The wait for the store is unrelated to the sender's clock.
    if isNew { context.metrics.noteSkew(of: envelope, at: now) }
    do throws(APIError) {
      try permit(kind, envelope)
      let order = try kind.read(envelope, delivery.message.body, now, context.registry.missingFields)
      // AMQP's own bounds on its parts are narrower than those of a key.
      guard let key = try? InboxKey(envelope.identity.key) else { throw .notStored }
      let request = CommandRequest(envelope: envelope, order: order, kind: kind, key: key)
      if kind.isLook { return .look(request) }
      guard let stage = order.stage else { return .transaction(request) }
      return .stage(stage, request)
    } catch {
      return .end(refuse(envelope, error, at: now))
    }
  }

  /// The broker has verified the sender.
  private func permit(_ kind: CommandKind, _ envelope: Envelope) throws(APIError) {
    let (admitted, refusal): (Set<String>, APIError)
    switch kind.users {
    case .all: return
    case .operators: (admitted, refusal) = (context.rules.operators, .notAnOperator)
    case .requesters: (admitted, refusal) = (context.rules.requesters, .notARequester)
    case .requestersAndOperators:
      (admitted, refusal) = (context.rules.requesters.union(context.rules.operators), .notARequester)
    }
    guard let user = envelope.userID, admitted.contains(user) else { throw refusal }
  }

  // MARK: Apply

  func addFirstKeys(of request: CommandRequest, to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    if !request.kind.isLook { keys.add(message: request.key) }
    try request.order.addFirstKeys(to: &keys, at: now)
  }

  func addMoreKeys(
    of request: CommandRequest, to keys: inout StoreKeys, from set: WorkingSet
  ) throws(StoreError) {
    try request.order.addMoreKeys(to: &keys, from: set)
  }

  func process(_ request: CommandRequest, in set: inout WorkingSet) throws(StoreError) -> Conclusion {
    guard let answer = try answer(request, in: &set) else {
      return Conclusion(label: CommandLabel(command: request.envelope.type.name, code: Self.deferred))
    }
    var conclusion = conclude(request.envelope, answer, at: set.now)
    // The messages of a redelivered command may be released already: that costs no further transaction.
    if !request.kind.isLook, try set.holdsMessages(untilReplyTo: request.key) { conclusion.holder = request.key }
    return conclusion
  }

  private func answer(_ request: CommandRequest, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    // A look changes nothing, so it is neither recorded nor answered from a record.
    if request.kind.isLook { return try request.order.carryOut(request.envelope, in: &set) }
    // One ID is one command, also while the command waits.
    if let entry = try set.message(request.key) {
      guard request.order.isSame(as: entry.fingerprint) else { return CommandAnswer(.reusedMessageID) }
      switch entry.state {
      case .replied(let type, let body):
        guard let type = MessageType(parsing: type) else { return CommandAnswer(.reusedMessageID) }
        return CommandAnswer(type: type, again: body)
      case .unrecorded(let note): return try request.order.answerAgain(note, in: &set)
      case .reserved:
        if try request.order.arriveAgain(request.envelope, in: &set) { return nil }
      }
    }
    return try carryOut(request, in: &set)
  }

  func isAnswered(_ request: CommandRequest, in set: WorkingSet) throws(StoreError) -> Bool {
    guard let entry = try set.message(request.key) else { return false }
    // Another command under its ID is refused by the transaction.
    guard request.order.isSame(as: entry.fingerprint), case .reserved = entry.state else { return true }
    return false
  }

  private func carryOut(_ request: CommandRequest, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    if let refusal = tooOld(request, at: set.now) { return CommandAnswer(refusal) }
    let before = set.changeCount
    let answer = try request.order.carryOut(request.envelope, in: &set)
    let state: InboxEntry.State
    if let answer {
      // The same command may succeed later, so this answer is not final. And an unchanged store has nothing to protect
      // from a second execution: a row for each such command would let senders fill the disk for free.
      guard !answer.isTransient, set.changeCount != before || answer.isOfStage else { return answer }
      state = answer.note.map { .unrecorded(note: $0) } ?? .replied(type: answer.type.text, body: answer.body)
    } else {
      state = .reserved
    }
    let kept = max(
      context.rules.inboxRetention, request.kind.answerIsKeptFor, answer == nil ? Self.longestWait : .zero)
    try set.set(
      InboxEntry(state, fingerprint: request.order.fingerprint, keepUntil: set.now + kept), of: request.key)
    return answer
  }

  /// A command that is answered later keeps its place for so long at least.
  private static let longestWait = Duration.seconds(3600)

  /// Nothing was changed, so it is not recorded: under the same ID, with a current timestamp, it is carried out.
  private func tooOld(_ request: CommandRequest, at now: UnixTime) -> APIError? {
    guard request.kind.isRefusedLate, let age = CommandAge.least(of: request.envelope.timestamp, at: now),
      age > context.rules.maxCommandAge
    else { return nil }
    return .commandTooOld(age, limit: context.rules.maxCommandAge)
  }

  // MARK: Answers

  func giveUp(_ request: CommandRequest, at now: UnixTime) -> Conclusion {
    let mayHaveBegun = request.order.stage?.changesStore ?? false
    var conclusion = conclude(request.envelope, CommandAnswer(mayHaveBegun ? .unfinished : .notStored), at: now)
    conclusion.dead = DeadReason(code: "INTERNAL_ERROR", text: "the command cannot be stored")
    return conclusion
  }

  func refuseBusy(_ request: CommandRequest, at now: UnixTime) -> Conclusion {
    refuse(request.envelope, .busy, at: now)
  }

  func staged(_ request: CommandRequest, _ order: any CommandOrder) -> CommandRequest {
    CommandRequest(envelope: request.envelope, order: order, kind: request.kind, key: request.key)
  }

  func crashed(_ delivery: Delivery, at now: UnixTime) -> Conclusion {
    var conclusion = answer(delivery.message, .crashed, at: now)
    conclusion.dead = .crashed
    return conclusion
  }

  private static let deferred = "DEFERRED"

  private func conclude(_ envelope: Envelope, _ answer: CommandAnswer, at now: UnixTime) -> Conclusion {
    Conclusion(
      reply: envelope.replyTo.map { SharedMessage(.reply(answer, to: $0, envelope, at: now)) },
      label: CommandLabel(command: envelope.type.name, code: answer.metricCode))
  }

  /// Without a reply address, it is kept for operators.
  private func refuse(_ envelope: Envelope, _ error: APIError, at now: UnixTime) -> Conclusion {
    var conclusion = conclude(envelope, CommandAnswer(error), at: now)
    if conclusion.reply == nil { conclusion.dead = DeadReason(code: error.code.rawValue, text: error.message) }
    return conclusion
  }

  private func refuse(_ delivery: Delivery, _ problem: ContractProblem, at now: UnixTime) -> Conclusion {
    var conclusion = answer(delivery.message, APIError(problem), at: now)
    if conclusion.reply == nil {
      conclusion.dead = DeadReason(code: problem.code.rawValue, text: problem.description)
    }
    return conclusion
  }

  /// Answers a message whose envelope cannot be relied on.
  private func answer(_ message: Message, _ error: APIError, at now: UnixTime) -> Conclusion {
    let envelope = Envelope(
      type: ErrorReply.type, messageID: message.messageID ?? MessageID.make(), correlationID: message.correlationID)
    return Conclusion(
      reply: message.answerAddress(for: sender(of: message)).map {
        SharedMessage(.reply(CommandAnswer(error), to: $0, envelope, at: now))
      },
      label: CommandLabel(command: CommandLabel.unknown, code: error.code.rawValue))
  }
}

extension Envelope {
  /// The original sender in `userID`, not its republisher: rights and identity go by the sender.
  func resolved(sender: String) -> Envelope {
    var copy = self
    copy.userID = sender == SenderRule.unnamed ? nil : sender
    copy.statedSender = nil
    return copy
  }

  /// Identity of a command whose sender is resolved.
  public var identity: MessageIdentity {
    MessageIdentity(sender: userID ?? SenderRule.unnamed, messageID: messageID)
  }
}

extension APIError {
  static let reusedMessageID = APIError(
    .invalidArgument, "this message_id was used for another message: give every message an ID of its own",
    field: "message_id", reason: "MESSAGE_ID_REUSED")
  /// Answer to a command that was not stored.
  public static let notStored = APIError(
    .internalError, "the command could not be carried out, and nothing was changed", retryAfter: 30)
  /// Answer to a command whose work before the transaction has changed the store, and has not come to its end.
  public static let unfinished = APIError(
    .internalError, "the command may have been begun, and is not finished: send it again, and it goes on",
    retryAfter: 30, reason: "UNFINISHED")
  static let busy = APIError(
    .internalError, "too many commands wait for work of this kind, and nothing was changed: send it again later",
    retryAfter: 5, reason: "BUSY")
  static let crashed = APIError(
    .internalError, "the command ends the process that reads it, and was given up: do not send it again",
    reason: CrashMarks.reason)
  static let notAnOperator = APIError(
    .operationNotAllowed,
    "this command is for operators: send it as a user of the broker that 'operators' in the configuration of the service names, with user_id set",
    field: "user_id")
  static let notARequester = APIError(
    .operationNotAllowed,
    "this command is taken from the users of the broker that 'requesters' in the configuration of the service names: send it as one of them, with user_id set, or add its user there",
    field: "user_id")
}

// MARK: - Age

/// Age of a command, by the `timestamp` of its sender's clock.
///
/// An old start is refused: its requester has gone, so its SMS would be wasted, use up the budgets of current
/// requesters, and count as a code that did not come back.
public enum CommandAge {
  /// AMQP keeps whole seconds, and most senders truncate: a command may have been sent up to the end of the second that
  /// its timestamp names.
  private static let unitOfTimestamp = Duration.milliseconds(999)

  /// The least age that a timestamp allows for.
  /// - Returns: `nil` without a timestamp, and for one in the future: the sender's clock is wrong.
  public static func least(of timestamp: UnixTime?, at now: UnixTime) -> Duration? {
    guard let timestamp, timestamp <= now else { return nil }
    return max(.zero, now - timestamp - unitOfTimestamp)
  }

  /// The requester may have gone when the command has waited longer: apps give up after ten to thirty seconds. Clocks
  /// synchronized by NTP differ by less.
  private static let longestPatience = Duration.seconds(10)

  /// Whether a command has waited so long that its requester may have gone.
  public static func isLate(_ timestamp: UnixTime?, at now: UnixTime) -> Bool {
    least(of: timestamp, at: now).map { $0 > longestPatience } ?? false
  }
}

extension APIError {
  static func commandTooOld(_ age: Duration, limit: Duration) -> APIError {
    APIError(
      .internalError,
      "the command was sent \(age.components.seconds) s ago, and is carried out within \(limit.components.seconds) s only: send a new one; if it was not late, set the clocks of its sender and of the service",
      field: "timestamp", reason: tooOld)
  }

  static let tooOld = "COMMAND_TOO_OLD"
}
