/// Base 64 in the alphabet for URLs, without padding (RFC 4648, section 5; RFC 7515, section 2), as JOSE has it.
public enum Base64URL {
  static let codec = Base64Codec(last: (UInt8(ascii: "-"), UInt8(ascii: "_")), isPadded: false)

  public static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(codec.encodedLength(bytes.count))
    codec.encode(bytes, into: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// - Returns: nil for anything but the one text that ``encode(_:)`` makes of some bytes.
  public static func decode(_ text: String) -> [UInt8]? {
    codec.decode(text.utf8)
  }
}
