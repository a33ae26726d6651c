/// A message: the properties of the `basic` class (AMQP 0-9-1, section 1.8.1) and the body.
public struct Message: Sendable, Hashable {
  /// MIME type of the body.
  public var contentType: String?
  /// MIME encoding of the body.
  public var contentEncoding: String?
  /// Headers; encoded they must stay under 64 KiB.
  public var headers: [String: FieldValue]
  /// Whether it survives a restart of the broker (delivery mode 2).
  public var isPersistent: Bool
  /// 0...9, for queues that know priorities.
  public var priority: UInt8?
  /// What the receiver of a reply matches it by.
  public var correlationID: String?
  /// The queue that a reply is sent to.
  public var replyTo: String?
  /// Time to live in milliseconds, as text.
  public var expiration: String?
  /// The sender's unique ID of the message.
  public var messageID: String?
  /// Seconds since 1970-01-01 UTC.
  public var timestamp: UInt64?
  /// Name of the message's type.
  public var type: String?
  /// The broker checks that it is the user of the connection.
  public var userID: String?
  /// Name of the program that sent it.
  public var appID: String?
  /// The content.
  public var body: [UInt8]
  /// Of a message that was delivered: the properties, under their names in AMQP, that were no UTF-8 and are therefore absent; `headers` stands
  /// for a name in one of its tables. The broker lets such messages pass.
  public var malformedProperties: [String] = []

  public init(
    contentType: String? = nil, contentEncoding: String? = nil, headers: [String: FieldValue] = [:],
    isPersistent: Bool = true, priority: UInt8? = nil, correlationID: String? = nil, replyTo: String? = nil,
    expiration: String? = nil, messageID: String? = nil, timestamp: UInt64? = nil, type: String? = nil,
    userID: String? = nil, appID: String? = nil, body: [UInt8] = []
  ) {
    self.contentType = contentType
    self.contentEncoding = contentEncoding
    self.headers = headers
    self.isPersistent = isPersistent
    self.priority = priority
    self.correlationID = correlationID
    self.replyTo = replyTo
    self.expiration = expiration
    self.messageID = messageID
    self.timestamp = timestamp
    self.type = type
    self.userID = userID
    self.appID = appID
    self.body = body
  }

  /// The length of the headers on the wire; `nil` when they cannot be published, being nested too deeply or with a name that is too long.
  public var headerBytes: Int? { headers.isEmpty ? 0 : MessageLimits.encodedBytes(headers) }
}
