/// The form of device tokens. Apple asks not to count on their length; those in use have 32 bytes.
enum DeviceToken {
  private static let hexDigits = 64...200
  static let description = "an even number of hexadecimal digits, \(hexDigits.lowerBound) to \(hexDigits.upperBound)"

  /// The token in lower case, or `nil` when it is none.
  static func normalized(_ text: some StringProtocol) -> String? {
    let isToken =
      hexDigits.contains(text.utf8.count) && text.utf8.count % 2 == 0
      && text.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
      }
    return isToken ? text.lowercased() : nil
  }
}
