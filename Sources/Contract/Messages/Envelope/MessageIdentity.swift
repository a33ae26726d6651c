/// Identity of a message: its sender and its ID. The same ID of another sender is another message.
public struct MessageIdentity: Sendable, Hashable {
  /// The user that sent it first, as a ``SenderRule`` resolves it.
  public var sender: String
  /// The message's `message_id`.
  public var messageID: String

  public init(sender: String, messageID: String) {
    self.sender = sender
    self.messageID = messageID
  }

  /// Stands between the parts of a key. Neither IDs nor senders hold control characters.
  public static let separator: Character = "\u{1F}"

  /// Sender and ID as one text.
  public var key: String { "\(sender)\(Self.separator)\(messageID)" }

  /// Sender, type of the job without its version, and ID as one text.
  public func key(ofJob type: MessageType) -> String {
    "\(sender)\(Self.separator)\(type.name)\(Self.separator)\(messageID)"
  }

  /// Reads either form of a key. A text without a separator is the ID of a message of nobody in particular.
  public init(key: String) {
    let parts = key.split(separator: Self.separator, maxSplits: 2, omittingEmptySubsequences: false)
    self.init(
      sender: parts.count > 1 ? String(parts[0]) : SenderRule.unnamed, messageID: parts.last.map(String.init) ?? "")
  }
}
