import CountersignEncoding

/// The form of device tokens. Apple asks not to count on their length; those in use have 32 bytes.
enum DeviceToken {
  private static let hexDigits = 64...200
  static let description = "an even number of hexadecimal digits, \(hexDigits.lowerBound) to \(hexDigits.upperBound)"

  /// The token in lower case, or `nil` when it is none.
  static func normalized(_ text: some StringProtocol) -> String? {
    let isToken =
      hexDigits.contains(text.utf8.count) && text.utf8.count % 2 == 0
      && text.utf8.allSatisfy { Hexadecimal.value(of: $0) != nil }
    return isToken ? text.lowercased() : nil
  }
}
