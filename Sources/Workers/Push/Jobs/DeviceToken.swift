/// The token by which APNs knows an app on a device. Apple asks not to rely on its length, which has been 32 bytes so far.
enum DeviceToken {
  /// The longest one that is taken, in bytes.
  static let maxBytes = 200

  /// - Returns: the token in lower case; nil when it is none.
  static func normalized(_ text: String) -> String? {
    let digits = Array(text.utf8)
    guard !digits.isEmpty, digits.count <= 2 * maxBytes, digits.count.isMultiple(of: 2), digits.allSatisfy(isHex) else {
      return nil
    }
    return text.lowercased()
  }

  private static func isHex(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
      UInt8(ascii: "A")...UInt8(ascii: "F"):
      true
    default: false
    }
  }
}
