/// Decodes messages: the default alphabet of GSM 03.38, one septet per octet, and UCS-2.
enum SMPPText {
  private static let basic = Array(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\u{1B}ÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
      .unicodeScalars)
  private static let escape: UInt8 = 0x1B
  private static let extended: [UInt8: Unicode.Scalar] = [
    0x0A: "\u{0C}", 0x14: "^", 0x28: "{", 0x29: "}", 0x2F: "\\", 0x3C: "[", 0x3D: "~", 0x3E: "]", 0x40: "|",
    0x65: "€",
  ]

  /// `nil` for octets outside the alphabet.
  static func gsm(_ octets: [UInt8]) -> String? {
    var text = String.UnicodeScalarView()
    var isEscaped = false
    for octet in octets {
      guard octet < basic.count else { return nil }
      if isEscaped {
        guard let scalar = extended[octet] else { return nil }
        text.append(scalar)
        isEscaped = false
      } else if octet == escape {
        isEscaped = true
      } else {
        text.append(basic[Int(octet)])
      }
    }
    return isEscaped ? nil : String(text)
  }

  /// `nil` for octets that are not UTF-16, which phones read UCS-2 as.
  static func ucs2(_ octets: [UInt8]) -> String? {
    guard octets.count.isMultiple(of: 2) else { return nil }
    let units = stride(from: 0, to: octets.count, by: 2).map { UInt16(octets[$0]) << 8 | UInt16(octets[$0 + 1]) }
    return String(validating: units, as: UTF16.self)
  }
}
