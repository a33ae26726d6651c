/// A message: the properties of the `basic` class (AMQP 0-9-1, section 1.8.1) and the body.
public struct Message: Sendable, Hashable {
  /// MIME type of the body.
  public var contentType: String?
  /// MIME encoding of the body.
  public var contentEncoding: String?
  /// Headers. Encoded they must stay under 64 KiB.
  public var headers: [String: FieldValue]
  /// Whether the message survives a restart of the broker (delivery mode 2).
  public var isPersistent = true
  /// 0...9, for queues that know priorities.
  public var priority: UInt8?
  /// ID by which the receiver of a reply finds its request.
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
  /// Sender's user. The broker checks that it is the user of the connection.
  public var userID: String?
  /// Name of the program that sent it.
  public var appID: String?
  /// The content.
  public var body: [UInt8]
  /// AMQP names of the properties of a delivered message that were not UTF-8 and are therefore absent. `headers` if a
  /// name in one of its tables was not. The broker lets such messages pass.
  public var malformedProperties: [String] = []

  /// Makes a persistent message. The properties that are not named here are set afterwards.
  public init(
    headers: [String: FieldValue] = [:], correlationID: String? = nil, replyTo: String? = nil, messageID: String? = nil,
    type: String? = nil, userID: String? = nil, body: [UInt8] = []
  ) {
    self.headers = headers
    self.correlationID = correlationID
    self.replyTo = replyTo
    self.messageID = messageID
    self.type = type
    self.userID = userID
    self.body = body
  }

  /// Length of the headers on the wire. `nil` if they cannot be published because of their nesting or a name's length.
  public var headerBytes: Int? { headers.isEmpty ? 0 : WireLimits.encodedBytes(headers) }
}
