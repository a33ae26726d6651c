public import CountersignAMQP
import CountersignTelemetry

#if DEBUG
  import Glibc
#endif

extension Envelope {
  /// Reads the envelope of a received message. Of the body, only the size is checked.
  ///
  /// An invalid `traceparent` is ignored, as W3C Trace Context requires.
  /// - Throws: the first breach of the contract. The message still has the sender's `reply_to` and `correlation_id`.
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
        .missingMessageID, field: "message_id", "is missing: give each message an ID of its own")
    }
    self.init(
      type: type, messageID: messageID, correlationID: message.correlationID,
      replyTo: message.replyTo.flatMap { $0.isEmpty ? nil : $0 },
      timestamp: message.timestamp.map { UnixTime(seconds: Int64(clamping: $0)) },
      appID: message.appID, userID: message.userID,
      trace: message.headers[MessageHeader.traceparent]?.stringValue.flatMap(TraceContext.init(traceparent:)))
    guard !message.headers.isEmpty else { return }
    statedSender = message.headers[MessageHeader.sender].map { $0.stringValue ?? "" }
    attempt = try Self.attempt(message.headers[MessageHeader.attempt])
    firstAttemptAt = try Self.time(message.headers[MessageHeader.firstAttemptAt])
    lastError = message.headers[MessageHeader.lastError]?.stringValue
    causationID = message.headers[MessageHeader.causationID]?.stringValue
  }

  /// Message to publish: persistent, JSON.
  public func message(body: [UInt8]) -> Message {
    var headers: [String: FieldValue] = [:]
    if attempt > 1 { headers[MessageHeader.attempt] = .int(Int64(attempt)) }
    if let firstAttemptAt { headers[MessageHeader.firstAttemptAt] = .string(firstAttemptAt.rfc3339) }
    if let lastError { headers[MessageHeader.lastError] = .string(MessageHeader.bounded(lastError)) }
    if let trace { headers[MessageHeader.traceparent] = .string(trace.traceparent) }
    if let statedSender { headers[MessageHeader.sender] = .string(statedSender) }
    if let causationID { headers[MessageHeader.causationID] = .string(causationID) }
    var message = Message(
      headers: headers, correlationID: correlationID, replyTo: replyTo, messageID: messageID, type: type.text,
      userID: userID, body: body)
    message.contentType = Self.contentType
    message.timestamp = timestamp.map { UInt64(clamping: $0.seconds) }
    message.appID = appID
    return message
  }

  /// Content type of every message.
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

  /// Upper and lower case and parameters are allowed (RFC 9110, section 8.3.1).
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

  /// Maximum attempt, more than a job of any deadline has. Keeps the counter from overflowing.
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

#if DEBUG
  /// Ends the process at the message that a test names, like an unforeseen trap. Release builds do not have it.
  enum PlantedCrash {
    private static let messageID = getenv("COUNTERSIGN_CRASH_AT_MESSAGE").map { String(cString: $0) }

    static func strike(_ message: String?) {
      if let messageID, messageID == message { abort() }
    }
  }
#endif
