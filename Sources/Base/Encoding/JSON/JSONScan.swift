/// Looks through a text without decoding it. It never sees fewer levels than the decoder does: strings and comments end
/// here where they end there, and an escape sequence over which the two could disagree is refused.
struct JSONScan {
  private let bytes: UnsafeBufferPointer<UInt8>
  private let syntax: JSONReader.Syntax
  private var position = 0
  private var depth = 0

  static func check(_ bytes: UnsafeBufferPointer<UInt8>, _ syntax: JSONReader.Syntax) throws(JSONRefusal) {
    guard !bytes.starts(with: byteOrderMark) else { throw .byteOrderMark }
    var scan = JSONScan(bytes: bytes, syntax: syntax)
    try scan.checkBytes()
    try scan.checkNesting()
  }

  private init(bytes: UnsafeBufferPointer<UInt8>, syntax: JSONReader.Syntax) {
    self.bytes = bytes
    self.syntax = syntax
  }

  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

  private func checkBytes() throws(JSONRefusal) {
    var isASCII = true
    for byte in bytes {
      guard byte != 0 else { throw .nulByte }
      isASCII = isASCII && byte < 0x80
    }
    guard isASCII || String(validating: bytes, as: UTF8.self) != nil else { throw .notUTF8 }
  }

  private mutating func checkNesting() throws(JSONRefusal) {
    while let byte = next() {
      switch byte {
      case UInt8(ascii: "["), UInt8(ascii: "{"):
        depth += 1
        guard depth <= JSONReader.maxDepth else { throw .tooDeep }
      // One too many is for the decoder to refuse.
      case UInt8(ascii: "]"), UInt8(ascii: "}"): depth = max(0, depth - 1)
      case UInt8(ascii: "\""): try skipString(until: byte)
      case UInt8(ascii: "'") where syntax == .json5: try skipString(until: byte)
      case UInt8(ascii: "/") where syntax == .json5: skipComment()
      default: break
      }
    }
  }

  private mutating func next() -> UInt8? {
    guard position < bytes.count else { return nil }
    defer { position += 1 }
    return bytes[position]
  }

  // MARK: Strings

  private mutating func skipString(until quote: UInt8) throws(JSONRefusal) {
    while let byte = next() {
      if byte == quote { return }
      if byte == UInt8(ascii: "\\") { try skipEscape() }
    }
  }

  /// The decoder steps over all that belongs to an escape, quotation marks and backslashes included, before it looks
  /// whether it is one.
  private mutating func skipEscape() throws(JSONRefusal) {
    switch (next(), syntax) {
    case (UInt8(ascii: "u"), _): try skipDigits(4)
    case (UInt8(ascii: "x"), .json5): try skipDigits(2)
    case (nil, _), (_, .json5): break
    case (let byte?, .json): guard Self.escapes.contains(byte) else { throw .malformedEscape }
    }
  }

  private mutating func skipDigits(_ count: Int) throws(JSONRefusal) {
    for _ in 0..<count {
      guard let byte = next(), Unicode.Scalar(byte).properties.isASCIIHexDigit else { throw .malformedEscape }
    }
  }

  private static let escapes = Array("\"\\/bfnrt".utf8)

  // MARK: Comments

  /// The first slash is behind. A line of a comment ends where the decoder ends it: also at a lone carriage return.
  private mutating func skipComment() {
    guard position < bytes.count else { return }
    switch bytes[position] {
    case UInt8(ascii: "/"):
      while let byte = next(), byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") {}
    case UInt8(ascii: "*"):
      position += 1
      var last: UInt8 = 0
      while let byte = next() {
        if last == UInt8(ascii: "*"), byte == UInt8(ascii: "/") { return }
        last = byte
      }
    default: break
    }
  }
}
