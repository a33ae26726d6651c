/// What a secret belongs to. It is part of what is sealed, so a sealed secret is of no use in another message.
public struct SealContext: Sendable, Hashable {
  /// The type of the message that carries it.
  public let messageType: MessageType
  /// The `message_id` of the message that carries it.
  public let messageID: String
  /// Whom it is for: the phone number of an SMS, the device token of a push, the verification ID of a check.
  public let recipient: String

  public init(messageType: MessageType, messageID: String, recipient: String) {
    self.messageType = messageType
    self.messageID = messageID
    self.recipient = recipient
  }

  enum Header {
    static let messageType = "messageType"
    static let messageID = "messageID"
    static let recipient = "recipient"
  }

  /// The parameters of the protected header.
  var header: [String: String] {
    [Header.messageType: messageType.text, Header.messageID: messageID, Header.recipient: recipient]
  }
}
