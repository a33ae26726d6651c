/// Base 64 with padding (RFC 4648, section 4), as HTTP's Basic authentication and webhook signatures have it.
public enum Base64 {
  private static let codec = Base64Codec(last: (UInt8(ascii: "+"), UInt8(ascii: "/")), isPadded: true)

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
