import CountersignMessages
import CountersignTelemetry
import JobEngine
import SMPP

struct SMPPLaneConfiguration: Sendable, Hashable {
  enum LongMessages: String, Sendable, Hashable, CaseIterable {
    /// Split here, each segment with a user data header.
    case udh
    /// Whole, as the parameter `message_payload`. The server splits it.
    case payload
  }

  let source: ShortMessage.Address
  let destinationTON: UInt8
  let destinationNPI: UInt8
  let longMessages: LongMessages
  var wantsReceipts: Bool
  /// Alphabet that the server reads octets without another coding as.
  var alphabet = SMPPAlphabet.gsm7

  private static let defaultAlphabet: UInt8 = 0
  private static let ucs2: UInt8 = 8

  /// Only the last segment of a message asks for a delivery report: its ID is the message's reference.
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

/// Alphabet of octets with `data_coding` 0: the "SMSC default alphabet" (SMPP 3.4, 5.2.19), which each server chooses.
enum SMPPAlphabet: String, Sendable, Hashable, CaseIterable {
  /// GSM 03.38, one septet an octet.
  case gsm7
  /// ISO 8859-1.
  case latin1
  case ascii

  /// Unchanged, or as UCS-2 if a character is missing.
  func carried(_ text: SMSText) -> SMSText {
    guard text.encoding == .gsm7, self != .gsm7 else { return text }
    return text.text.unicodeScalars.allSatisfy(has) ? text : SMSText(ucs2: text.text)
  }

  func octets(of part: String, in text: SMSText) -> [UInt8] {
    guard text.encoding == .gsm7, self != .gsm7 else { return text.octets(of: part) }
    return part.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
  }

  private func has(_ scalar: Unicode.Scalar) -> Bool { scalar.value < (self == .ascii ? 0x80 : 0x100) }
}
