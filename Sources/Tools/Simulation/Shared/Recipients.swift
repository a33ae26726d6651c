/// Numbers with special behavior: those of Twilio's test credentials
/// (https://www.twilio.com/docs/iam/test-credentials), for every simulated provider.
enum Recipients {
  struct Refusal: Sendable {
    let code: Int
    let message: String
  }

  static func refusal(_ number: String) -> Refusal? {
    switch number {
    case "+15005550001": invalid
    case "+15005550002":
      Refusal(
        code: 21612, message: "Message cannot be sent with the current combination of 'To' and 'From' parameters.")
    case "+15005550003":
      Refusal(code: 21408, message: "Permission to send an SMS has not been enabled for the region of the 'To' number.")
    case "+15005550004": Refusal(code: 21610, message: "Attempt to send to unsubscribed recipient.")
    case "+15005550009": Refusal(code: 21614, message: "'To' number is not a valid mobile number.")
    default: isE164(number) ? nil : invalid
    }
  }

  static let invalid = Refusal(code: 21211, message: "Invalid 'To' Phone Number.")

  /// Sender: a number or short code of digits only, or up to eleven letters, digits and spaces, at least one of them a
  /// letter
  /// (3GPP TS 23.040, 9.1.2.5: eleven septets).
  static func isSender(_ text: String, maxDigits: Int) -> Bool {
    let bytes = text.utf8
    let isDigit = { (byte: UInt8) in (0x30...0x39).contains(byte) }
    if bytes.allSatisfy(isDigit) { return (3...maxDigits).contains(bytes.count) }
    return (1...11).contains(bytes.count)
      && bytes.allSatisfy { isDigit($0) || (0x41...0x5A).contains($0 & 0xDF) && $0 < 0x80 || $0 == 0x20 }
  }

  /// E.164: a plus sign, a digit other than 0, at most 15 digits. The shortest numbers in use have 7.
  static func isE164(_ number: String) -> Bool {
    let digits = number.utf8.dropFirst()
    return number.utf8.first == UInt8(ascii: "+") && digits.first != UInt8(ascii: "0")
      && (7...15).contains(digits.count)
      && digits.allSatisfy { (0x30...0x39).contains($0) }
  }
}
