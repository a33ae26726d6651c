public import CountersignAMQP
import CountersignTelemetry

extension Envelope {
  /// Reads the envelope of a message that was delivered. The body is not looked at, but for its size.
  ///
  /// A `traceparent` that is not valid is ignored, as W3C Trace Context demands.
  /// - Throws: what breaks the contract. The sender's `reply_to` and `correlation_id` are then still in the message.
  public init(_ message: Message) throws(ContractProblem) {
    #if DEBUG
      PlantedCrash.strike(message.messageID)
    #endif
    try message.checkProperties()
    try Self.checkContent(message)
    guard let text = message.type, !text.isEmpty else {
      throw ContractProblem(.unknownType, field: "type", "is missing")
    }
    guard let type = MessageType(parsing: text) else {
      throw ContractProblem(.unknownType, field: "type", "must be a name and a version such as sms.dispatch.v1")
    }
    guard let messageID = message.messageID, !messageID.isEmpty else {
      throw ContractProblem(
        .missingMessageID, field: "message_id", "is missing: give every message an ID of its own")
    }
    self.init(
      type: type, messageID: messageID, correlationID: message.correlationID,
      replyTo: message.replyTo.flatMap { $0.isEmpty ? nil : $0 },
      timestamp: message.timestamp.map { UnixTime(seconds: Int64(clamping: $0)) },
      appID: message.appID, userID: message.userID,
      statedSender: message.headers[MessageHeader.sender].map { $0.stringValue ?? "" },
      attempt: try Self.attempt(message.headers[MessageHeader.attempt]),
      firstAttemptAt: try Self.time(message.headers[MessageHeader.firstAttemptAt]),
      lastError: message.headers[MessageHeader.lastError]?.stringValue,
      trace: message.headers[MessageHeader.traceparent]?.stringValue.flatMap(TraceContext.init(traceparent:)),
      causationID: message.headers[MessageHeader.causationID]?.stringValue)
  }

  /// The message to publish: persistent, JSON.
  public func message(body: [UInt8]) -> Message {
    var headers: [String: FieldValue] = [:]
    if attempt > 1 { headers[MessageHeader.attempt] = .int(Int64(attempt)) }
    if let firstAttemptAt { headers[MessageHeader.firstAttemptAt] = .string(firstAttemptAt.rfc3339) }
    if let lastError { headers[MessageHeader.lastError] = .string(MessageHeader.bounded(lastError)) }
    if let trace { headers[MessageHeader.traceparent] = .string(trace.traceparent) }
    if let statedSender { headers[MessageHeader.sender] = .string(statedSender) }
    if let causationID { headers[MessageHeader.causationID] = .string(causationID) }
    return Message(
      contentType: Self.contentType, headers: headers, isPersistent: true, correlationID: correlationID,
      replyTo: replyTo, messageID: messageID, timestamp: timestamp.map { UInt64(clamping: $0.seconds) },
      type: type.text, userID: userID, appID: appID, body: body)
  }

  /// The content type of every message.
  public static let contentType = "application/json"

  private static func checkContent(_ message: Message) throws(ContractProblem) {
    guard let contentType = message.contentType, !contentType.isEmpty else {
      throw ContractProblem(.wrongContentType, field: "content_type", "is missing; it must be \(Self.contentType)")
    }
    guard contentType == Self.contentType || Self.isJSON(contentType) else {
      throw ContractProblem(.wrongContentType, field: "content_type", "must be \(Self.contentType)")
    }
    switch message.contentEncoding?.lowercased() {
    case nil, "", "utf-8", "utf8", "identity": break
    default: throw ContractProblem(.wrongContentType, field: "content_encoding", "must be absent or utf-8")
    }
    guard message.body.count <= MessageLimits.maxBodyBytes else { throw ContractJSON.tooLarge }
  }

  /// In any case, and with parameters (RFC 9110, section 8.3.1).
  private static func isJSON(_ contentType: String) -> Bool {
    contentType.prefix { $0 != ";" && $0 != " " }.lowercased() == Self.contentType
  }

  private static func attempt(_ value: FieldValue?) throws(ContractProblem) -> Int {
    guard let value, value != .null else { return 1 }
    guard let number = value.intValue, let attempt = Int(exactly: number), (1...maxAttempt).contains(attempt) else {
      throw ContractProblem(
        .invalidField, field: "headers.\(MessageHeader.attempt)", "must be a whole number from 1 to \(maxAttempt)")
    }
    return attempt
  }

  /// More attempts than a job of any deadline has; keeps the counter from running over.
  private static let maxAttempt = 1_000_000

  private static func time(_ value: FieldValue?) throws(ContractProblem) -> UnixTime? {
    switch value {
    case nil, .null: return nil
    case .string(let text):
      if let time = UnixTime(rfc3339: text) { return time }
    case .timestamp(let seconds): return UnixTime(seconds: Int64(clamping: seconds))
    default: break
    }
    throw ContractProblem(
      .invalidField, field: "headers.\(MessageHeader.firstAttemptAt)", "must be an RFC 3339 date and time")
  }
}
