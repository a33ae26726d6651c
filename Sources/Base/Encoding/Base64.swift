/// Base64 with padding (RFC 4648, section 4), as HTTP's Basic authentication and webhook signatures have it.
public enum Base64 {
  private static let codec = Base64Codec(last: (UInt8(ascii: "+"), UInt8(ascii: "/")), isPadded: true)

  public static func encode(_ bytes: [UInt8]) -> String { codec.encode(bytes) }

  /// - Returns: `nil` for anything but the one text that ``encode(_:)`` makes of some bytes.
  public static func decode(_ text: String) -> [UInt8]? { codec.decode(text.utf8) }
}

/// Base64 in the alphabet for URLs, without padding (RFC 4648, section 5; RFC 7515, section 2), as JOSE has it.
public enum Base64URL {
  private static let codec = Base64Codec(last: (UInt8(ascii: "-"), UInt8(ascii: "_")), isPadded: false)

  public static func encode(_ bytes: [UInt8]) -> String { codec.encode(bytes) }

  /// Appends the text of some bytes to other text.
  public static func encode(_ bytes: [UInt8], into text: inout [UInt8]) { codec.encode(bytes, into: &text) }

  /// - Returns: `nil` for anything but the one text that ``encode(_:)`` makes of some bytes.
  public static func decode(_ text: String) -> [UInt8]? { codec.decode(text.utf8) }

  /// - Returns: `nil` for anything but the one text that ``encode(_:)`` makes of some bytes.
  public static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? { codec.decode(text) }
}

/// Base64 as other systems write it: in either alphabet, with padding or without. Nothing is skipped.
public enum AnyBase64 {
  private static let pad = UInt8(ascii: "=")

  public static func decode(_ text: String) -> [UInt8]? {
    var digits = text.utf8[...]
    if text.utf8.count.isMultiple(of: 4) { for _ in 0..<2 where digits.last == pad { digits.removeLast() } }
    let unified = digits.map { byte in
      switch byte {
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      default: byte
      }
    }
    return Base64URL.decode(unified[...])
  }
}

/// Both alphabets of RFC 4648. Decoding is strict: one text for one value, nothing skipped.
private struct Base64Codec: Sendable {
  private static let invalid: UInt8 = 0xFF
  private static let pad = UInt8(ascii: "=")

  private let alphabet: [UInt8]
  private let values: [UInt8]
  private let isPadded: Bool

  init(last: (UInt8, UInt8), isPadded: Bool) {
    alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8) + [last.0, last.1]
    var values = [UInt8](repeating: Self.invalid, count: 256)
    for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
    self.values = values
    self.isPadded = isPadded
  }

  func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(encodedLength(bytes.count))
    encode(bytes, into: &text)
    return String(decoding: text, as: UTF8.self)
  }

  private func encodedLength(_ count: Int) -> Int {
    isPadded ? (count + 2) / 3 * 4 : (count * 4 + 2) / 3
  }

  func encode(_ bytes: [UInt8], into text: inout [UInt8]) {
    let start = text.count
    text.append(contentsOf: repeatElement(Self.pad, count: encodedLength(bytes.count)))
    text.withUnsafeMutableBufferPointer { text in
      alphabet.withUnsafeBufferPointer { alphabet in
        var place = start
        func put(_ bits: UInt32, _ count: Int) {
          for index in 0..<count {
            text[place] = alphabet[Int(bits >> UInt32(18 - 6 * index) & 0x3F)]
            place += 1
          }
        }
        var index = 0
        while index + 2 < bytes.count {
          put(UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2]), 4)
          index += 3
        }
        // One byte left makes two characters, two make three; the rest is padding already, or absent.
        switch bytes.count - index {
        case 1: put(UInt32(bytes[index]) << 16, 2)
        case 2: put(UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8, 3)
        default: break
        }
      }
    }
  }

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
