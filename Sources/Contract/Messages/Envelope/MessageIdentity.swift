import CountersignEncoding
public import CountersignTelemetry

/// Identity of a message: sender and ID. The same ID from another sender is another message.
public struct MessageIdentity: Sendable, Hashable {
  /// First sender, as a ``SenderRule`` resolves it.
  public var sender: String
  /// `message_id` of the message.
  public var messageID: String

  public init(sender: String, messageID: String) {
    self.sender = sender
    self.messageID = messageID
  }

  /// Separator of the parts of a key. Neither IDs nor senders hold control characters.
  public static let separator: Character = "\u{1F}"

  /// Sender and ID as one text.
  public var key: String { "\(sender)\(Self.separator)\(messageID)" }

  /// Sender, type of the job without its version, and ID as one text.
  public func key(ofJob type: MessageType) -> String {
    "\(sender)\(Self.separator)\(type.name)\(Self.separator)\(messageID)"
  }

  /// Reads either form of a key. A text without a separator is the ID of a message from an unnamed sender.
  public init(key: String) {
    let parts = key.split(separator: Self.separator, maxSplits: 2, omittingEmptySubsequences: false)
    self.init(
      sender: parts.count > 1 ? String(parts[0]) : SenderRule.unnamed, messageID: parts.last.map(String.init) ?? "")
  }
}

/// Values of `message_id`.
public enum MessageID {
  /// Returns a new ID: a UUID of version 7 (RFC 9562, section 5.7) without hyphens, 32 hexadecimal digits.
  ///
  /// IDs of about the same time are neighbors in the indexes of ledger and inbox, which makes writing them cheaper.
  public static func make() -> String {
    var generator = SystemRandomNumberGenerator()
    return make(at: SystemClock().now(), using: &generator)
  }

  /// Returns a new ID from a given time and generator, for tests.
  public static func make(at time: UnixTime, using generator: inout some RandomNumberGenerator) -> String {
    let version: UInt64 = 7 << 12
    let variant: UInt64 = 2 << 62
    let high = UInt64(bitPattern: time.milliseconds) << 16 | version | generator.next() & 0xFFF
    let low = variant | generator.next() >> 2
    return Hexadecimal.text(high, width: 16) + Hexadecimal.text(low, width: 16)
  }
}
