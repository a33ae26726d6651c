/// Hexadecimal digits (RFC 4648, section 8).
public enum Hexadecimal {
  /// Two digits for each byte, most significant first.
  public static func encode(_ bytes: [UInt8], uppercase: Bool = false) -> String {
    String(unsafeUninitializedCapacity: 2 * bytes.count) { text in
      for (index, byte) in bytes.enumerated() {
        text[2 * index] = digit(byte >> 4, uppercase: uppercase)
        text[2 * index + 1] = digit(byte & 15, uppercase: uppercase)
      }
      return 2 * bytes.count
    }
  }

  /// A UUID as text (RFC 9562, section 4), in lower case.
  /// - Parameter bytes: 16 bytes.
  public static func uuid(_ bytes: [UInt8]) -> String {
    let groups = [0..<4, 4..<6, 6..<8, 8..<10, 10..<16]
    return groups.map { encode(Array(bytes[$0])) }.joined(separator: "-")
  }

  /// - Returns: `nil` for an odd number of digits, or a character that is not one.
  public static func decode(_ text: some StringProtocol) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count / 2)
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = value(of: digits[index]), let low = value(of: digits[index + 1]) else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }

  /// The digits of a number, filled up with zeros on the left.
  /// - Parameter width: number of digits at least; a larger number has more.
  public static func text(_ number: UInt64, width: Int, uppercase: Bool = false) -> String {
    let significant = (UInt64.bitWidth - number.leadingZeroBitCount + 3) / 4
    let count = max(width, significant, 1)
    return String(unsafeUninitializedCapacity: count) { text in
      var rest = number
      for index in stride(from: count - 1, through: 0, by: -1) {
        text[index] = digit(UInt8(truncatingIfNeeded: rest & 15), uppercase: uppercase)
        rest >>= 4
      }
      return count
    }
  }

  /// - Parameter nibble: 0 to 15.
  public static func digit(_ nibble: UInt8, uppercase: Bool = false) -> UInt8 {
    nibble < 10 ? UInt8(ascii: "0") + nibble : (uppercase ? UInt8(ascii: "A") : UInt8(ascii: "a")) + nibble - 10
  }

  /// The value of a digit in either case. `nil` for another character.
  public static func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
