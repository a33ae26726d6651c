/// What a secret belongs to. It is part of what is sealed, so a sealed secret is of no use in another message.
public struct SealContext: Sendable, Hashable {
  /// A field of the message beside the secret that must not be exchanged: the domain that a code is shown for, the name in the text.
  public struct Field: Sendable, Hashable {
    /// Its name in the protected header.
    public let name: String
    /// Its value in the message; `nil` if it is absent, which is bound as well.
    public let value: String?

    public init(_ name: String, _ value: String?) {
      self.name = name
      self.value = value
    }
  }

  /// The type of the message that carries it.
  public let messageType: MessageType
  /// The `message_id` of the message that carries it.
  public let messageID: String
  /// Whom it is for: the phone number of an SMS, the device token of a push, the verification ID of a check.
  public let recipient: String
  /// Further fields of the message that are bound. A seal says itself which fields it binds, so that one that binds none opens too.
  public let fields: [Field]

  public init(messageType: MessageType, messageID: String, recipient: String, fields: [Field] = []) {
    self.messageType = messageType
    self.messageID = messageID
    self.recipient = recipient
    self.fields = fields
  }

  enum Header {
    static let messageType = "messageType"
    static let messageID = "messageID"
    static let recipient = "recipient"
    /// The names of the fields that are bound, with spaces between them; those without a value have no parameter of their own.
    static let bound = "bound"
  }

  /// The parameters of the protected header.
  var header: [String: String] {
    var header = [Header.messageType: messageType.text, Header.messageID: messageID, Header.recipient: recipient]
    guard !fields.isEmpty else { return header }
    header[Header.bound] = fields.map(\.name).joined(separator: " ")
    for field in fields { header[field.name] = field.value }
    return header
  }

  /// The first parameter that a header has not or has with another value, or binds and this message knows nothing of.
  func mismatch(in header: [String: String]) -> String? {
    if header[Header.messageID] != messageID { return Header.messageID }
    if header[Header.messageType] != messageType.text { return Header.messageType }
    if header[Header.recipient] != recipient { return Header.recipient }
    for name in header[Header.bound]?.split(separator: " ") ?? [] {
      guard let field = fields.first(where: { $0.name == name }) else { return Header.bound }
      if header[field.name] != field.value { return field.name }
    }
    return nil
  }
}
