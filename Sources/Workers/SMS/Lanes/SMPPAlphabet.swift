/// Alphabet that an SMPP server reads octets of `data_coding` 0 as, its "SMSC default alphabet" (SMPP 3.4, 5.2.19), which is the server's choice.
enum SMPPAlphabet: String, Sendable, Hashable, CaseIterable {
  /// GSM 03.38, one septet an octet.
  case gsm7
  /// ISO 8859-1.
  case latin1
  /// ASCII.
  case ascii

  /// A text as it can be sent with this alphabet: as it is, or as UCS-2 where a character is missing.
  func carried(_ text: SMSText) -> SMSText {
    guard text.encoding == .gsm7, self != .gsm7 else { return text }
    return text.text.unicodeScalars.allSatisfy(has) ? text : SMSText(ucs2: text.text)
  }

  /// A part of a text that this alphabet carries.
  func octets(of part: String, in text: SMSText) -> [UInt8] {
    guard text.encoding == .gsm7, self != .gsm7 else { return text.octets(of: part) }
    return part.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
  }

  private func has(_ scalar: Unicode.Scalar) -> Bool { scalar.value < (self == .ascii ? 0x80 : 0x100) }
}
