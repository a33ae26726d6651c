/// Base32 without padding (RFC 4648, section 6), as authenticator apps take secrets.
public enum Base32 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)
  private static let bitsPerDigit: UInt32 = 5

  public static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count * 8 + 4) / 5)
    var (buffer, bits): (UInt32, UInt32) = (0, 0)
    for byte in bytes {
      buffer = buffer << 8 | UInt32(byte)
      bits += 8
      while bits >= bitsPerDigit {
        bits -= bitsPerDigit
        text.append(digit(buffer >> bits))
      }
    }
    if bits > 0 { text.append(digit(buffer << (bitsPerDigit - bits))) }
    return String(decoding: text, as: UTF8.self)
  }

  private static func digit(_ value: UInt32) -> UInt8 { alphabet[Int(value & 31)] }
}
