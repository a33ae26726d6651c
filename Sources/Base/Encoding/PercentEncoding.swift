/// Percent-encoding of URLs (RFC 3986, section 2.1).
public enum PercentEncoding {
  /// Escapes everything but the unreserved characters of section 2.3: letters, digits and `-._~`.
  public static func encode(_ text: String) -> String {
    // IDs have nothing to escape, as a rule.
    if text.utf8.allSatisfy(isUnreserved) { return text }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(3 * text.utf8.count)
    for byte in text.utf8 {
      if isUnreserved(byte) { bytes.append(byte) } else { append(escaped: byte, to: &bytes) }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Lenient: a `%` without two hexadecimal digits stays, and bytes that are not UTF-8 become U+FFFD.
  public static func decode(_ text: some StringProtocol) -> String {
    String(decoding: bytes(of: Array(text.utf8), plusIsSpace: false), as: UTF8.self)
  }

  /// - Returns: `nil` for a `%` without two hexadecimal digits, or bytes that are not UTF-8.
  public static func decode(strictly text: some StringProtocol) -> String? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == percent else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(Hexadecimal.value), let low = rest.popFirst().flatMap(Hexadecimal.value)
      else { return nil }
      bytes.append(high << 4 | low)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  static func append(escaped byte: UInt8, to bytes: inout [UInt8]) {
    bytes.append(percent)
    bytes.append(Hexadecimal.digit(byte >> 4, uppercase: true))
    bytes.append(Hexadecimal.digit(byte & 15, uppercase: true))
  }

  static func bytes(of text: some RandomAccessCollection<UInt8>, plusIsSpace: Bool) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var rest = text[...]
    while let byte = rest.popFirst() {
      if byte == percent, rest.count >= 2, let high = Hexadecimal.value(of: rest[rest.startIndex]),
        let low = Hexadecimal.value(of: rest[rest.index(after: rest.startIndex)])
      {
        bytes.append(high << 4 | low)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    return bytes
  }

  private static let percent = UInt8(ascii: "%")

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "~"):
      true
    default: false
    }
  }
}
