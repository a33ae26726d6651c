/// The number in a `tel:` URI (RFC 3966), as address books and web pages hand it out.
///
/// The parameter `phone-context` counts if it is the missing beginning of the number; extensions and subaddresses are
/// refused, because the number alone does not reach the person. Other parameters are ignored.
enum TelURI {
  private static let scheme = "tel:"

  /// Schemes are read in any case (RFC 3986, 3.1).
  static func isOne(_ text: String) -> Bool { text.prefix(scheme.utf8.count).lowercased() == scheme }

  /// The number in its usual form: + and digits, or the digits of a national number if the URI has no context.
  static func number(_ text: String) throws(PhoneNumberError) -> String {
    let parts = text.dropFirst(scheme.utf8.count).split(separator: ";", omittingEmptySubsequences: false)
    guard let number = parts.first, let digits = digits(number) else { throw PhoneNumberError(.notANumber) }
    var context: Substring?
    for parameter in parts.dropFirst() {
      let pair = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      switch pair[0].lowercased() {
      // RFC 3966, 3; "postd" is RFC 2806's word for digits that are dialled after the number.
      case "ext", "isub", "postd": throw PhoneNumberError(.hasExtension)
      case "phone-context":
        // A repeated parameter is ambiguous.
        guard context == nil, pair.count == 2, !pair[1].isEmpty else { throw PhoneNumberError(.notANumber) }
        context = pair[1]
      default: break
      }
    }
    // A global number needs no context.
    guard let context, !digits.hasPrefix("+") else { return digits }
    // A domain: the number of a private network.
    guard context.hasPrefix("+") else { throw PhoneNumberError(.privateNumber) }
    guard let beginning = Self.digits(context) else { throw PhoneNumberError(.notANumber) }
    return beginning + digits
  }

  private static func digits(_ text: Substring) -> String? {
    var found: [UInt8] = []
    var hasDigit = false
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        hasDigit = true
        found.append(byte)
      case UInt8(ascii: "+") where found.isEmpty: found.append(byte)
      // Visual separators; the RFC does not allow a space, but URIs contain it.
      case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: " "): break
      default: return nil
      }
    }
    return hasDigit ? String(decoding: found, as: UTF8.self) : nil
  }
}
