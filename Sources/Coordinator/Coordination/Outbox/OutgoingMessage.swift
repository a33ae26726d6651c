import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import SQLite

/// A message that the coordinator publishes.
struct OutgoingMessage: Sendable, Hashable {
  /// Consequence when no queue takes the message.
  enum Duty: UInt8, Sendable {
    /// The message is kept and published again until a queue takes it: a job.
    case kept = 0
    /// None: an event, which may have no listener.
    case optional = 1
    /// None, but it is counted: a reply, whose requester may be gone.
    case reply = 2
  }

  var duty: Duty
  var exchange: String
  var routingKey: String
  /// `sms.dispatch.v1`
  var type: String
  var messageID: String
  var correlationID: String?
  /// The `message_id` of the message that led to this one.
  var causationID: String?
  var traceparent: String?
  var timestamp: UnixTime
  /// Time after which it is useless and no longer published; never, if absent.
  var discardAfter: UnixTime?
  var body: [UInt8]
}

extension OutgoingMessage {
  /// A job that is kept until a queue takes it.
  /// - Parameters:
  ///   - correlationID: the operation.
  ///   - deadline: time after which the job is useless.
  static func job(
    _ type: MessageType, _ name: JobName, correlationID: String, causationID: String?, trace: TraceContext?,
    deadline: UnixTime, body: [UInt8], at now: UnixTime
  ) -> OutgoingMessage {
    OutgoingMessage(
      duty: .kept, exchange: Topology.Exchanges.jobs, routingKey: type.name, type: type.text, messageID: name.text,
      correlationID: correlationID, causationID: causationID, traceparent: trace?.child().traceparent, timestamp: now,
      discardAfter: deadline, body: body)
  }

  /// An event.
  /// - Parameters:
  ///   - id: unique ID: an event of one operation is published once.
  ///   - correlationID: the operation.
  static func event<Body: Event>(
    _ body: Body, id: String, correlationID: String, cause: Envelope?, at now: UnixTime
  ) throws(DatabaseError) -> OutgoingMessage {
    OutgoingMessage(
      duty: .optional, exchange: Topology.Exchanges.events, routingKey: Body.routingKey, type: Body.type.text,
      messageID: id, correlationID: correlationID, causationID: cause?.messageID,
      traceparent: cause?.trace?.child().traceparent, timestamp: now, discardAfter: nil, body: try body.written())
  }
}

extension CoordinatorTransaction {
  /// Publishes an event through the outbox.
  func enqueue<Body: Event>(
    _ event: Body, id: String, correlationID: String, cause: Envelope?
  ) throws(DatabaseError) {
    enqueue(try .event(event, id: id, correlationID: correlationID, cause: cause, at: now))
  }
}

extension MessageBody {
  /// The body as JSON. One that cannot be written undoes the batch, like a failure of the database.
  func written() throws(DatabaseError) -> [UInt8] {
    do throws(ContractProblem) {
      return try json()
    } catch {
      throw DatabaseError(.content, "a body of type \(Self.type.text) cannot be written: \(error)")
    }
  }
}

/// IDs of jobs: `<owner>.<kind>.<number>`, always the same for a job, so that it is carried out once.
struct JobName: Sendable, Hashable {
  enum Kind: String, Sendable {
    case push, captcha, revoke, notice
  }

  var owner: String
  var kind: Kind

  init(_ owner: String, _ kind: Kind) {
    self.owner = owner
    self.kind = kind
  }

  /// The `message_id`. Each operation has one job of a kind.
  var text: String { owner + suffix }

  private var suffix: String { ".\(kind.rawValue).1" }

  /// - Returns: `nil` for the job of another service.
  init?(parsing text: String, _ kind: Kind) {
    self.init("", kind)
    guard text.hasSuffix(suffix) else { return nil }
    owner = String(text.dropLast(suffix.count))
    guard !owner.isEmpty, owner.utf8.count <= VerificationID.maxLength else { return nil }
  }
}

extension OutgoingMessage {
  /// The publication of the message.
  ///
  /// - Parameter author: the sender.
  func publication(by author: Author) -> Publication {
    var envelope = Envelope(
      type: MessageType(parsing: type) ?? MessageType(type), messageID: messageID, correlationID: correlationID,
      timestamp: timestamp, appID: author.appID, userID: author.userID,
      trace: traceparent.flatMap(TraceContext.init(traceparent:)))
    envelope.causationID = causationID
    return Publication(
      message: envelope.message(body: body), exchange: exchange, routingKey: routingKey, mandatory: duty != .optional)
  }
}

extension OutgoingMessage {
  /// The dead letter of a message that AMQP has no room for. Fields that are too long for AMQP are left out.
  ///
  /// - Parameters:
  ///   - error: the reason it cannot be published.
  ///   - author: the process that gives it up.
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

  /// The reason on the dead letter.
  static let unpublishable = "UNPUBLISHABLE"

  private static func fitting(_ text: String) -> String? {
    text.utf8.count <= MessageLimits.maxShortStringBytes ? text : nil
  }
}
