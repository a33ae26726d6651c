/// A PDU from the server, as far as it matters to a sender of SMS.
///
/// Decoded here rather than by libsmpp34, whose reader trusts its peer: it logs every optional parameter into a buffer
/// of 2 KiB and writes beyond its end, and rejects whole PDUs for a vendor's status or a parameter longer than 1 KiB.
enum IncomingPDU: Sendable, Hashable {
  case bindResponse(CommandStatus)
  /// The server's ID of the SMS. `nil` if it gave none.
  case submitResponse(CommandStatus, messageID: String?)
  case deliver(DeliveredMessage)
  case enquireLink
  case enquireLinkResponse
  case unbind
  case unbindResponse
  case genericNack(CommandStatus)
  case unknownRequest
  /// Needs no action.
  case ignored
  case malformed

  /// The longest `message_id` (SMPP 3.4, 4.4.2), without its NUL.
  static let maxMessageID = 64

  init(_ frame: Frame) {
    var reader = ByteReader(frame.body)
    switch frame.command {
    case CommandID.bindTransceiverResponse: self = .bindResponse(frame.status)
    case CommandID.submitResponse:
      // Servers leave the ID out or empty with an error, and some leave its NUL out.
      let text = reader.cString(atMost: Self.maxMessageID) ?? frame.body
      self = .submitResponse(frame.status, messageID: MessageIDText.read(text))
    case CommandID.deliver: self = DeliveredMessage(&reader).map(Self.deliver) ?? .malformed
    case CommandID.enquireLink: self = .enquireLink
    case CommandID.enquireLinkResponse: self = .enquireLinkResponse
    case CommandID.unbind: self = .unbind
    case CommandID.unbindResponse: self = .unbindResponse
    case CommandID.genericNack: self = .genericNack(frame.status)
    case CommandID.alertNotification: self = .ignored
    default: self = CommandID.isResponse(frame.command) ? .ignored : .unknownRequest
    }
  }
}

enum MessageIDText {
  /// `nil` if it is empty or cannot be an ID: IDs must be safe for logs and comparable.
  static func read(_ bytes: ArraySlice<UInt8>) -> String? {
    guard !bytes.isEmpty, bytes.count <= IncomingPDU.maxMessageID, bytes.allSatisfy({ (0x21...0x7E).contains($0) })
    else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }
}
