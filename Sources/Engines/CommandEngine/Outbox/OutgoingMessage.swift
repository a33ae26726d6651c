import CountersignAMQP
import CountersignEncoding
public import CountersignMessages
public import CountersignTelemetry
public import RecordStore

/// A message that a service publishes.
public struct OutgoingMessage: Sendable, Hashable {
  /// Consequence when no queue takes the message.
  public enum Duty: UInt8, Sendable {
    /// The message is kept and published again until a queue takes it: a job, or a command to another service.
    case kept = 0
    /// None: an event, which may have no listener.
    case optional = 1
    /// None, but it is counted: a reply, whose requester may be gone.
    case reply = 2
  }

  public var duty: Duty
  public var exchange: String
  public var routingKey: String
  /// `sms.dispatch.v1`
  public var type: String
  public var messageID: String
  public var correlationID: String?
  /// The `message_id` of the message that led to this one.
  public var causationID: String?
  public var traceparent: String?
  /// Queue of the reply to a command.
  public var replyTo: String?
  public var timestamp: UnixTime
  /// Time after which it is useless and no longer published. Never, if absent.
  public var discardAfter: UnixTime?
  public var body: [UInt8]

  /// - Parameters:
  ///   - duty: consequence when no queue takes it.
  ///   - address: exchange and routing key.
  ///   - type: its type.
  ///   - messageID: its ID; always the same for the same message, so that it has one effect.
  ///   - correlationID: the operation.
  ///   - cause: properties of the message that led to it.
  ///   - now: its time.
  ///   - body: its body.
  public init(
    _ duty: Duty, to address: (exchange: String, routingKey: String), type: MessageType, messageID: String,
    correlationID: String?, cause: Envelope?, at now: UnixTime, body: [UInt8]
  ) {
    self.duty = duty
    (exchange, routingKey) = address
    self.type = type.text
    self.messageID = messageID
    self.correlationID = correlationID
    causationID = cause?.messageID
    traceparent = cause?.trace?.child().traceparent
    timestamp = now
    self.body = body
  }
}

/// A message in memory that passes through many hands: one reference to copy in the place of a dozen.
final class SharedMessage: Sendable {
  let message: OutgoingMessage

  init(_ message: OutgoingMessage) {
    self.message = message
  }
}

extension OutgoingMessage {
  /// A job that is kept until a queue takes it.
  /// - Parameters:
  ///   - type: its type, whose name is the routing key.
  ///   - id: its `message_id`.
  ///   - correlationID: the operation.
  ///   - cause: properties of the message that led to it.
  ///   - deadline: time after which the job is useless.
  ///   - body: its body.
  ///   - now: its time.
  public static func job(
    _ type: MessageType, id: String, correlationID: String, cause: Envelope?, deadline: UnixTime, body: [UInt8],
    at now: UnixTime
  ) -> OutgoingMessage {
    var message = OutgoingMessage(
      .kept, to: (Topology.Exchanges.jobs, type.name), type: type, messageID: id, correlationID: correlationID,
      cause: cause, at: now, body: body)
    message.discardAfter = deadline
    return message
  }

  /// An event.
  /// - Parameters:
  ///   - body: its body.
  ///   - id: its `message_id`: an event of one operation is published once.
  ///   - correlationID: the operation.
  ///   - cause: properties of the message that led to it.
  ///   - now: its time.
  /// - Throws: ``StoreError/Code/content`` when the body cannot be written.
  public static func event<Body: Event>(
    _ body: Body, id: String, correlationID: String, cause: Envelope?, at now: UnixTime
  ) throws(StoreError) -> OutgoingMessage {
    OutgoingMessage(
      .optional, to: (Topology.Exchanges.events, Body.routingKey), type: Body.type, messageID: id,
      correlationID: correlationID, cause: cause, at: now, body: try body.written())
  }

  /// A command to another service, whose reply comes as a ``ReportKind`` from that service. It is kept until a queue
  /// takes it; a record that becomes due at the deadline tells a reply that never comes.
  /// - Parameters:
  ///   - body: its body.
  ///   - id: its `message_id`, always the same for the same command: the other service carries it out once.
  ///   - correlationID: the operation, by which the reply is attributed.
  ///   - replyTo: this service's queue of replies.
  ///   - cause: properties of the message that led to it.
  ///   - deadline: time after which the command is useless.
  ///   - now: its time.
  /// - Throws: ``StoreError/Code/content`` when the body cannot be written.
  public static func command<Body: Command>(
    _ body: Body, id: String, correlationID: String, replyTo: String, cause: Envelope?, deadline: UnixTime,
    at now: UnixTime
  ) throws(StoreError) -> OutgoingMessage {
    var message = OutgoingMessage(
      .kept, to: (Topology.Exchanges.commands, Body.routingKey), type: Body.type, messageID: id,
      correlationID: correlationID, cause: cause, at: now, body: try body.written())
    message.replyTo = replyTo
    message.discardAfter = deadline
    return message
  }
}

extension WorkingSet {
  /// Sends a message once the changes are stored.
  /// - Parameter command: key of the command whose reply goes out first, if the message has to wait for that.
  /// - Throws: ``StoreError/Code/tooLarge``.
  public mutating func send(
    _ message: OutgoingMessage, afterReplyTo command: MessageIdentity? = nil
  ) throws(StoreError) {
    var hold: OutboxMessage.Hold?
    if let command {
      hold = OutboxMessage.Hold(untilReplyTo: try InboxKey(command.key), orAt: now + Self.longestHold)
    }
    try send(OutboxMessage(message, hold: hold))
  }

  /// Longest wait of a message for the reply to its command: the command was not redelivered by then.
  static let longestHold = StoreLimits.longestDelay

  /// Answers a command that has waited, and records the answer for a redelivery. Of one with a secret its
  /// ``CommandAnswer/note``.
  /// - Parameters:
  ///   - answer: the answer.
  ///   - envelope: properties of the command; its user is the original sender.
  ///   - order: fingerprint of the order.
  ///   - retention: time for which the answer is recorded; `nil` for one that is not final: the same command is carried
  ///     out anew.
  /// - Throws: ``StoreError``.
  public mutating func answer(
    _ answer: CommandAnswer, to envelope: Envelope, fingerprint: [UInt8], keptFor retention: Duration?
  ) throws(StoreError) {
    let key = try InboxKey(envelope.identity.key)
    // An answer may have been recorded under the ID meanwhile; that one stays.
    if let retention, try message(key).map({ $0.state == .reserved }) ?? true {
      let state = answer.note.map { InboxEntry.State.unrecorded(note: $0) }
      try set(
        InboxEntry(
          state ?? .replied(type: answer.type.text, body: answer.body), fingerprint: fingerprint,
          keepUntil: now + retention),
        of: key)
    }
    guard let replyTo = envelope.replyTo, ReplyAddress.isAllowed(replyTo, for: envelope.identity.sender) else { return }
    try send(.reply(answer, to: replyTo, envelope, at: now))
  }
}

extension OutgoingMessage {
  static func reply(
    _ answer: CommandAnswer, to queue: String, _ envelope: Envelope, at now: UnixTime
  ) -> OutgoingMessage {
    let id = envelope.messageID + suffix
    return OutgoingMessage(
      .reply, to: (Topology.Exchanges.direct, queue), type: answer.type,
      messageID: id.utf8.count <= MessageLimits.maxShortStringBytes ? id : MessageID.make(),
      correlationID: envelope.correlationID, cause: envelope, at: now, body: answer.body)
  }

  private static let suffix = ".reply"

  func publication(by author: Author) -> Publication {
    var headers: [String: FieldValue] = [:]
    headers.reserveCapacity(2)
    if let traceparent { headers[MessageHeader.traceparent] = .string(traceparent) }
    if let causationID { headers[MessageHeader.causationID] = .string(causationID) }
    var message = Message(
      headers: headers, correlationID: correlationID, replyTo: replyTo, messageID: messageID, type: type,
      userID: author.userID, body: body)
    message.contentType = Envelope.contentType
    message.timestamp = UInt64(clamping: timestamp.seconds)
    message.appID = author.appID
    return Publication(message: message, exchange: exchange, routingKey: routingKey, mandatory: duty != .optional)
  }
}

extension OutgoingMessage {
  /// Fields that are too long for AMQP are left out.
  func burial(_ error: AMQPError, by author: Author, at now: UnixTime) -> Publication {
    // A job lies among the dead letters of its queue; a reply or an event has no such queue, and lies with the
    // commands.
    let isJob = exchange == Topology.Exchanges.jobs && Topology.Queues.jobs.contains(routingKey)
    let queue = isJob ? routingKey : Topology.Queues.commands
    var headers: [String: FieldValue] = [
      MessageHeader.deadReason: .string(Self.unpublishable),
      MessageHeader.lastError: .string(MessageHeader.bounded(error.description)),
      MessageHeader.deadQueue: .string(queue),
      MessageHeader.deadAt: .string(now.rfc3339),
    ]
    if let causationID { headers[MessageHeader.causationID] = .string(MessageHeader.bounded(causationID)) }
    var message = Message(
      headers: headers, correlationID: correlationID.flatMap(Self.fitting),
      messageID: Self.fitting(messageID) ?? MessageID.make(), type: Self.fitting(type), userID: author.userID,
      body: body.count <= MessageLimits.maxBodyBytes ? body : [])
    message.contentType = Envelope.contentType
    message.timestamp = UInt64(clamping: timestamp.seconds)
    message.appID = author.appID
    return Publication(message: message, exchange: Topology.Exchanges.dead, routingKey: queue)
  }

  static let unpublishable = "UNPUBLISHABLE"

  private static func fitting(_ text: String) -> String? {
    text.utf8.count <= MessageLimits.maxShortStringBytes ? text : nil
  }
}

extension OutboxMessage {
  init(_ message: OutgoingMessage, hold: Hold?) {
    self.init(
      type: message.type, content: OutboxCodec.encode(message), discardAt: message.discardAfter, hold: hold)
    original = SharedMessage(message)
  }

  func outgoing() throws(StoreError) -> SharedMessage {
    if let original = original as? SharedMessage { return original }
    return SharedMessage(try OutboxCodec.decode(self))
  }
}

enum OutboxCodec {
  static func encode(_ message: OutgoingMessage) -> [UInt8] {
    var fields = FieldCoder(capacity: message.body.count + 320)
    // Nothing is absent while writing, so nothing is thrown.
    _ = try? OutgoingMessage(&fields, message)
    return fields.bytes
  }

  static func decode(_ row: OutboxMessage) throws(StoreError) -> OutgoingMessage {
    do throws(UnreadableFields) {
      var fields = try FieldCoder(reading: row.content)
      var message = try OutgoingMessage(&fields, nil)
      message.type = row.type
      message.discardAfter = row.discardAt
      return message
    } catch {
      throw .unreadableBody
    }
  }
}

extension OutgoingMessage {
  /// Names every field once, for both directions. A tag never changes its meaning.
  fileprivate init(_ fields: inout FieldCoder, _ message: Self?) throws(UnreadableFields) {
    let duty = try fields.required(1, message.map { Int($0.duty.rawValue) })
    self.duty = try FieldCoder.present(UInt8(exactly: duty).flatMap(Duty.init))
    exchange = try fields.required(2, message?.exchange)
    routingKey = try fields.required(3, message?.routingKey)
    type = ""
    messageID = try fields.required(4, message?.messageID)
    correlationID = fields.optional(5, message?.correlationID)
    causationID = fields.optional(6, message?.causationID)
    traceparent = fields.optional(7, message?.traceparent)
    replyTo = fields.optional(8, message?.replyTo)
    timestamp = try fields.required(9, message?.timestamp)
    body = try fields.required(10, message?.body)
  }
}
