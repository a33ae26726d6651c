/// IDs for messages.
public enum MessageID {
  /// A new ID: 128 bits of the system's random numbers as 32 hexadecimal digits.
  public static func make() -> String {
    var generator = SystemRandomNumberGenerator()
    return make(using: &generator)
  }

  /// A new ID from other random numbers, for tests.
  public static func make(using generator: inout some RandomNumberGenerator) -> String {
    digits(generator.next()) + digits(generator.next())
  }

  private static func digits(_ number: UInt64) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: 16 - text.utf8.count) + text
  }
}
