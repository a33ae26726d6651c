/// Decodes `application/x-www-form-urlencoded` (WHATWG URL Standard, section 5.1), the form of queries and form bodies.
public enum URLEncodedForm {
  /// Maximum number of fields; further ones are ignored.
  public static let maxFields = 1_000

  /// The fields of a form in order. Bytes that are not UTF-8 become U+FFFD; a `%` without two hexadecimal digits stays.
  public static func parse(_ bytes: some Sequence<UInt8>) -> [(name: String, value: String)] {
    Array(bytes).split(separator: UInt8(ascii: "&"), maxSplits: maxFields).prefix(maxFields).map { field in
      let parts = field.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      return (
        name: percentDecoded(parts[0], plusIsSpace: true),
        value: parts.count > 1 ? percentDecoded(parts[1], plusIsSpace: true) : ""
      )
    }
  }
}

/// Decodes `%41` to `A` (RFC 3986, section 2.1), and `+` to a space where forms rule.
func percentDecoded(_ bytes: some Collection<UInt8>, plusIsSpace: Bool) -> String {
  var decoded: [UInt8] = []
  decoded.reserveCapacity(bytes.count)
  var rest = Array(bytes)[...]
  while let byte = rest.popFirst() {
    if byte == UInt8(ascii: "%"), rest.count >= 2,
      let high = hexadecimalDigit(rest[rest.startIndex]), let low = hexadecimalDigit(rest[rest.startIndex + 1])
    {
      decoded.append(high << 4 | low)
      rest = rest.dropFirst(2)
    } else {
      decoded.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
    }
  }
  return String(decoding: decoded, as: UTF8.self)
}

private func hexadecimalDigit(_ byte: UInt8) -> UInt8? {
  switch byte {
  case 0x30...0x39: byte - 0x30
  case 0x41...0x46: byte - 0x41 + 10
  case 0x61...0x66: byte - 0x61 + 10
  default: nil
  }
}
