public import CountersignTelemetry

/// Properties and headers of a message: everything of the contract outside its body.
public struct Envelope: Sendable, Hashable {
  /// Type of the body.
  public var type: MessageType
  /// The sender's unique ID and the idempotency key: the same ID twice has one effect.
  public var messageID: String
  /// Verification, operation, or any value that the sender wants back.
  public var correlationID: String?
  /// Queue for the reply or a copy of the result.
  public var replyTo: String?
  /// Time of sending. AMQP keeps whole seconds.
  public var timestamp: UnixTime?
  /// Sending program.
  public var appID: String?
  /// Broker user of the sender. It can be trusted: the broker refuses a message that names another user. Absent unless
  /// the sender set it.
  public var userID: String?
  /// First sender according to the header `x-sender`. A ``SenderRule`` decides whether to trust it.
  public var statedSender: String?
  /// Number of the attempt, from 1.
  public var attempt: Int
  /// Start of the first attempt. Absent on the first.
  public var firstAttemptAt: UnixTime?
  /// Error of the previous attempt.
  public var lastError: String?
  /// Trace of the message.
  public var trace: TraceContext?
  /// `message_id` of the message that caused this one.
  public var causationID: String?

  /// Creates the envelope of a first attempt. Properties of messages that are published again, and the cause, are set
  /// afterwards.
  public init(
    type: MessageType, messageID: String, correlationID: String? = nil, replyTo: String? = nil,
    timestamp: UnixTime? = nil, appID: String? = nil, userID: String? = nil, trace: TraceContext? = nil
  ) {
    self.type = type
    self.messageID = messageID
    self.correlationID = correlationID
    self.replyTo = replyTo
    self.timestamp = timestamp
    self.appID = appID
    self.userID = userID
    self.trace = trace
    attempt = 1
  }

  /// Envelope of the next attempt of the same message.
  /// - Parameters:
  ///   - error: error of this attempt, for people; without secrets.
  ///   - startedAt: start of this attempt.
  public func nextAttempt(after error: String, startedAt: UnixTime) -> Envelope {
    var next = self
    next.attempt = attempt &+ 1
    next.firstAttemptAt = firstAttemptAt ?? startedAt
    next.lastError = error
    // The retry is published under our own user; the broker would reject the original sender's `user_id`.
    next.userID = nil
    return next
  }

  /// Envelope of a message that this one causes: same correlation, child of the same trace.
  /// - Parameters:
  ///   - type: type of the caused message.
  ///   - messageID: ID of the caused message.
  ///   - now: time of sending.
  ///   - author: publisher.
  ///   - sender: user for `x-sender`; `nil` for the author's own message.
  public func leading(
    to type: MessageType, messageID: String, at now: UnixTime, by author: Author, sender: String? = nil
  ) -> Envelope {
    var envelope = Envelope(
      type: type, messageID: messageID, correlationID: correlationID, timestamp: now, appID: author.appID,
      userID: author.userID, trace: trace?.child())
    envelope.statedSender = sender
    envelope.causationID = self.messageID
    return envelope
  }

  /// Checks that the receiver accepts the type.
  /// - Throws: ``ContractProblem/Code-swift.struct/unknownVersion`` if only the version differs, otherwise
  ///   ``ContractProblem/Code-swift.struct/unknownType``.
  public func expect(_ types: [MessageType]) throws(ContractProblem) {
    if types.contains(type) { return }
    let expected = types.map(\.text).joined(separator: ", ")
    let isVersion = types.contains { $0.name == type.name }
    throw ContractProblem(
      isVersion ? .unknownVersion : .unknownType, field: "type",
      isVersion ? "has an unsupported version; supported are \(expected)" : "must be one of \(expected)")
  }
}

/// Publisher: a program and its broker user.
public struct Author: Sendable, Hashable {
  /// Program. The `app_id` of its messages.
  public var appID: String
  /// User of its connections. The `user_id` of its messages, which the broker checks.
  public var userID: String

  public init(appID: String, userID: String) {
    self.appID = appID
    self.userID = userID
  }
}
