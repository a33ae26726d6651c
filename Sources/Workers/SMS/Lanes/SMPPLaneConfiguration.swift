import CountersignMessages
import CountersignTelemetry
import JobEngine
import SMPP

/// What an SMPP lane writes into its messages.
struct SMPPLaneConfiguration: Sendable, Hashable {
  /// How a message that is longer than one segment goes.
  enum LongMessages: String, Sendable, Hashable, CaseIterable {
    /// Cut here, each segment with a user data header.
    case udh
    /// Whole, as the parameter `message_payload`; the server cuts it.
    case payload
  }

  /// Who the message is from.
  let source: ShortMessage.Address
  let destinationTON: UInt8
  let destinationNPI: UInt8
  let longMessages: LongMessages
  /// Whether the server is asked to report what became of a message.
  var wantsReceipts: Bool
  /// Alphabet that the server reads octets without another coding as.
  var alphabet = SMPPAlphabet.gsm7

  private static let defaultAlphabet: UInt8 = 0
  private static let ucs2: UInt8 = 8

  /// The submissions that a message takes, in order.
  ///
  /// Of a message of several segments the receipt of the last one is asked for: its ID is the message's reference.
  func segments(of message: OutgoingSMS, validity: Duration, reference: UInt8) -> [ShortMessage] {
    let message = OutgoingSMS(
      to: message.to, text: alphabet.carried(message.text), languageCode: message.languageCode)
    let text = message.text
    let elements = text.shift?.informationElements ?? []
    guard text.segments > 1 else {
      let octets = alphabet.octets(of: text.text, in: text)
      return [segment(message, elements.isEmpty ? .whole(octets) : .headed(elements, octets), validity, isLast: true)]
    }
    if longMessages == .payload {
      return [segment(message, .payload(alphabet.octets(of: text.text, in: text)), validity, isLast: true)]
    }
    let parts = text.parts().map { alphabet.octets(of: $0, in: text) }
    return parts.enumerated().map { index, octets in
      let header = ShortMessage.Concatenation(
        reference: reference, total: UInt8(clamping: parts.count), number: UInt8(clamping: index + 1),
        elements: elements)
      return segment(message, .part(header, octets), validity, isLast: index == parts.count - 1)
    }
  }

  /// Text with which a result tells of a message where the server's alphabet has changed it.
  func extras(of message: OutgoingSMS) -> ResultExtras {
    let carried = alphabet.carried(message.text)
    guard carried != message.text else { return [:] }
    return ["segments": .int(carried.segments), "encoding": .string(carried.encoding.rawValue)]
  }

  private func segment(
    _ message: OutgoingSMS, _ content: ShortMessage.Content, _ validity: Duration, isLast: Bool
  ) -> ShortMessage {
    ShortMessage(
      from: source,
      to: ShortMessage.Address(ton: destinationTON, npi: destinationNPI, text: String(message.to.dropFirst())),
      content, dataCoding: message.text.encoding == .gsm7 ? Self.defaultAlphabet : Self.ucs2, validity: validity,
      wantsReceipt: wantsReceipts && isLast)
  }
}
