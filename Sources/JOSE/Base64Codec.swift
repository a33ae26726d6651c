/// Base 64 of RFC 4648, in both of its alphabets. Decoding is strict: one text for one value, nothing skipped.
struct Base64Codec: Sendable {
  private static let invalid: UInt8 = 0xFF
  private static let pad = UInt8(ascii: "=")

  private let alphabet: [UInt8]
  private let values: [UInt8]
  private let isPadded: Bool

  /// - Parameters:
  ///   - last: the characters for 62 and 63.
  ///   - isPadded: whether the length is filled up with `=` to a multiple of four.
  init(last: (UInt8, UInt8), isPadded: Bool) {
    alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8) + [last.0, last.1]
    var values = [UInt8](repeating: Self.invalid, count: 256)
    for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
    self.values = values
    self.isPadded = isPadded
  }

  func encodedLength(_ count: Int) -> Int {
    isPadded ? (count + 2) / 3 * 4 : (count * 4 + 2) / 3
  }

  /// Appends the text of some bytes to others.
  func encode(_ bytes: some Sequence<UInt8>, into text: inout [UInt8]) {
    var buffer: UInt32 = 0
    var bits = 0
    for byte in bytes {
      buffer = buffer << 8 | UInt32(byte)
      bits += 8
      while bits >= 6 {
        bits -= 6
        text.append(alphabet[Int(buffer >> UInt32(bits) & 0x3F)])
      }
    }
    guard bits > 0 else { return }
    text.append(alphabet[Int(buffer << UInt32(6 - bits) & 0x3F)])
    if isPadded { text.append(contentsOf: repeatElement(Self.pad, count: bits == 2 ? 2 : 1)) }
  }

  /// - Returns: nil when a character is not of the alphabet, the length cannot be, padding is missing or too much, or bits that no byte
  ///   takes are not 0 (RFC 4648, section 3.5).
  func decode(_ text: some BidirectionalCollection<UInt8>) -> [UInt8]? {
    guard let digits = withoutPadding(text) else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count * 3 / 4)
    var buffer: UInt32 = 0
    var bits = 0
    for character in digits {
      let value = values[Int(character)]
      guard value != Self.invalid else { return nil }
      buffer = buffer << 6 | UInt32(value)
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
      }
    }
    guard bits < 6, buffer & (1 << UInt32(bits) - 1) == 0 else { return nil }
    return bytes
  }

  private func withoutPadding<Text: BidirectionalCollection<UInt8>>(_ text: Text) -> Text.SubSequence? {
    guard isPadded else { return text[...] }
    let count = text.count
    guard count.isMultiple(of: 4) else { return nil }
    var digits = text[...]
    for _ in 0..<2 where digits.last == Self.pad { digits.removeLast() }
    return digits
  }
}
