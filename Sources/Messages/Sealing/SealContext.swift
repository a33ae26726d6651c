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

  /// The first parameter, in the order of their names, that a header has not or has with another value.
  func mismatch(in header: [String: String]) -> String? {
    if header[Header.messageID] != messageID { return Header.messageID }
    if header[Header.messageType] != messageType.text { return Header.messageType }
    return header[Header.recipient] == recipient ? nil : Header.recipient
  }
}
