/// The caller's reference for an SMS, returned with its delivery report.
public struct MessageOrigin: Sendable, Hashable {
  public var id: String
  public var correlationID: String?

  public init(id: String, correlationID: String? = nil) {
    self.id = id
    self.correlationID = correlationID
  }
}

/// A server's delivery report on an SMS that it accepted.
///
/// The times in its text have no time zone, so they are not decoded.
public struct SMPPReceipt: Sendable, Hashable {
  /// The server's ID of the SMS, as in the response to its submission.
  public var messageID: String
  public var state: MessageState
  /// The network's error code as received, if any. `000` often means no error.
  public var errorCode: String?
  /// The caller's reference. `nil` if the SMS was not sent on this session, or too long ago.
  public var origin: MessageOrigin?

  public init(messageID: String, state: MessageState, errorCode: String? = nil, origin: MessageOrigin? = nil) {
    self.messageID = messageID
    self.state = state
    self.errorCode = errorCode
    self.origin = origin
  }

  init?(_ message: DeliveredMessage, _ notation: MessageIDNotation) {
    guard Self.isReceipt(message) else { return nil }
    let text = ReceiptText(message.text)
    let parameter = message[OptionalParameter.receiptedMessageID].flatMap { MessageIDText.read($0.prefix { $0 != 0 }) }
    guard let id = parameter ?? text.id,
      let state = message[OptionalParameter.messageState]?.first.flatMap(MessageState.init(code:)) ?? text.state
    else { return nil }
    self.init(
      messageID: notation.ofReceipt(id), state: state,
      errorCode: text.error ?? message[OptionalParameter.networkErrorCode].flatMap(Self.networkError))
  }

  /// A delivery receipt or intermediate notification (SMPP 3.4, 5.2.12). Some servers set no bit.
  private static func isReceipt(_ message: DeliveredMessage) -> Bool {
    switch message.esmClass & 0x3C {
    case 0x04, 0x20: true
    case 0x00: message[OptionalParameter.receiptedMessageID] != nil
    default: false
    }
  }

  /// Network type and error code (SMPP 3.4, 5.3.2.31).
  private static func networkError(_ value: ArraySlice<UInt8>) -> String? {
    guard value.count == 3, let code = ByteReader(value).lastTwoBytes else { return nil }
    return code == 0 ? nil : String(code)
  }
}

extension ByteReader {
  fileprivate var lastTwoBytes: UInt16? {
    var reader = self
    guard reader.byte() != nil else { return nil }
    return reader.uint16()
  }
}

/// The text of a delivery report (SMPP 3.4, appendix B):
/// `id:… sub:001 dlvrd:001 submit date:… done date:… stat:DELIVRD err:000 text:…`.
struct ReceiptText: Sendable, Hashable {
  /// A longer text is truncated: everything of interest is at its front.
  static let maxBytes = 512

  let id: String?
  let state: MessageState?
  let error: String?

  init(_ bytes: ArraySlice<UInt8>) {
    // The text after `text:` is the sender's own, and could contain anything.
    let fields = Self.words(bytes.prefix(Self.maxBytes)).prefix { Self.value(of: "text", $0) == nil }
    func first(_ name: String) -> String? { fields.lazy.compactMap { Self.value(of: name, $0) }.first }
    id = first("id").flatMap { MessageIDText.read(ArraySlice($0.utf8)) }
    state = first("stat").flatMap { MessageState(word: $0) }
    error = first("err").flatMap { Self.isCode($0) ? $0 : nil }
  }

  private static func words(_ bytes: ArraySlice<UInt8>) -> [Substring] {
    String(decoding: bytes, as: UTF8.self).split { $0 == " " || $0.isNewline }
  }

  private static func value(of name: String, _ word: Substring) -> String? {
    let parts = word.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].lowercased() == name else { return nil }
    return String(parts[1])
  }

  private static func isCode(_ text: String) -> Bool {
    (1...16).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }
}
