/// Context of a secret: its message and recipient. It is sealed with the secret, so a sealed secret is useless in
/// another message.
public struct SealContext: Sendable, Hashable {
  /// Further field of the message that must not be replaced: the domain that a code is shown for, the name in the text.
  public struct Field: Sendable, Hashable {
    /// Name in the protected header.
    public let name: String
    /// Value in the message. `nil` if it is absent, which is bound too.
    public let value: String?
    /// Whether a seal that does not bind it is refused.
    public let isRequired: Bool

    public init(_ name: String, _ value: String?, isRequired: Bool = false) {
      self.name = name
      self.value = value
      self.isRequired = isRequired
    }
  }

  /// Type of the message.
  public let messageType: MessageType
  /// `message_id` of the message.
  public let messageID: String
  /// Recipient: the phone number of an SMS, the device token of a push, the verification ID of a check.
  public let recipient: String
  /// Further bound fields of the message. A seal lists the fields that it binds, so one that binds only the required
  /// ones opens too.
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
    /// Names of the bound fields, separated by spaces. Fields without a value have no parameter of their own.
    static let bound = "bound"
  }

  var header: [String: String] {
    var header = [Header.messageType: messageType.text, Header.messageID: messageID, Header.recipient: recipient]
    guard !fields.isEmpty else { return header }
    header[Header.bound] = fields.map(\.name).joined(separator: " ")
    for field in fields { header[field.name] = field.value }
    return header
  }

  /// First parameter that a header lacks, has with another value, does not bind although it has to, or binds although
  /// this message does not have it.
  func mismatch(in header: [String: String]) -> String? {
    if header[Header.messageID] != messageID { return Header.messageID }
    if header[Header.messageType] != messageType.text { return Header.messageType }
    if header[Header.recipient] != recipient { return Header.recipient }
    let bound = header[Header.bound]?.split(separator: " ") ?? []
    if let free = fields.first(where: { $0.isRequired && !bound.contains(Substring($0.name)) }) { return free.name }
    for name in bound {
      guard let field = fields.first(where: { $0.name == name }) else { return Header.bound }
      if header[field.name] != field.value { return field.name }
    }
    return nil
  }
}
