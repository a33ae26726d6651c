public import CountersignTelemetry

/// What is written on a message: everything of the contract that is not in its body.
public struct Envelope: Sendable, Hashable {
  /// What the body is.
  public var type: MessageType
  /// The sender's unique ID and the idempotency key: the same ID twice has one effect.
  public var messageID: String
  /// The verification, the operation, or whatever the sender wants back.
  public var correlationID: String?
  /// The queue that the reply, or a copy of the result, is sent to.
  public var replyTo: String?
  /// When it was sent; AMQP keeps whole seconds.
  public var timestamp: UnixTime?
  /// The program that sent it.
  public var appID: String?
  /// The user of the broker that sent it. The broker refuses a message whose sender is another one, so it can be believed; absent
  /// unless the sender put it there.
  public var userID: String?
  /// The user that sent it first, as the header `x-sender` says; only a ``SenderRule`` tells whether that is to be believed.
  public var statedSender: String?
  /// Which attempt it is, from 1.
  public var attempt: Int
  /// When the first attempt began; absent on the first.
  public var firstAttemptAt: UnixTime?
  /// Why the attempt before this one failed.
  public var lastError: String?
  /// The trace that it belongs to.
  public var trace: TraceContext?
  /// The `message_id` of the message that led to this one.
  public var causationID: String?

  public init(
    type: MessageType, messageID: String, correlationID: String? = nil, replyTo: String? = nil,
    timestamp: UnixTime? = nil, appID: String? = nil, userID: String? = nil, statedSender: String? = nil,
    attempt: Int = 1, firstAttemptAt: UnixTime? = nil, lastError: String? = nil, trace: TraceContext? = nil,
    causationID: String? = nil
  ) {
    self.type = type
    self.messageID = messageID
    self.correlationID = correlationID
    self.replyTo = replyTo
    self.timestamp = timestamp
    self.appID = appID
    self.userID = userID
    self.statedSender = statedSender
    self.attempt = attempt
    self.firstAttemptAt = firstAttemptAt
    self.lastError = lastError
    self.trace = trace
    self.causationID = causationID
  }

  /// The envelope of the next attempt of the same message.
  /// - Parameters:
  ///   - error: why this attempt failed, for people; without secrets.
  ///   - startedAt: when this attempt began.
  public func nextAttempt(after error: String, startedAt: UnixTime) -> Envelope {
    var next = self
    next.attempt = attempt &+ 1
    next.firstAttemptAt = firstAttemptAt ?? startedAt
    next.lastError = error
    // The next attempt is published by the receiver, as whom the broker would not let the sender's name pass.
    next.userID = nil
    return next
  }

  /// The envelope of a message that this one leads to: same correlation, same trace, one step on.
  /// - Parameters:
  ///   - author: whoever publishes it.
  ///   - sender: whom `x-sender` names; nil when it is the author's own message.
  public func leading(
    to type: MessageType, messageID: String, at now: UnixTime, by author: Author, sender: String? = nil
  ) -> Envelope {
    Envelope(
      type: type, messageID: messageID, correlationID: correlationID, timestamp: now, appID: author.appID,
      userID: author.userID, statedSender: sender, trace: trace?.child(), causationID: self.messageID)
  }

  /// Checks that the type is one that the receiver takes.
  /// - Throws: ``ContractProblem/Code-swift.struct/unknownVersion`` when only the version differs, else
  ///   ``ContractProblem/Code-swift.struct/unknownType``.
  public func expect(_ types: [MessageType]) throws(ContractProblem) {
    if types.contains(type) { return }
    let expected = types.map(\.text).joined(separator: ", ")
    let isVersion = types.contains { $0.name == type.name }
    throw ContractProblem(
      isVersion ? .unknownVersion : .unknownType, field: "type",
      isVersion ? "has a version that is not known here; known are \(expected)" : "must be one of \(expected)")
  }
}
