public import CountersignTelemetry

/// Values of `message_id`.
public enum MessageID {
  /// A new ID: a UUID of version 7 (RFC 9562, section 5.7) without hyphens, which is 32 hexadecimal digits.
  ///
  /// Those made at about the same time stand side by side in the indexes of ledger and inbox, which makes writing them cheaper.
  public static func make() -> String {
    var generator = SystemRandomNumberGenerator()
    return make(at: SystemClock().now(), using: &generator)
  }

  /// A new ID from another time and other random numbers, for tests.
  public static func make(at time: UnixTime, using generator: inout some RandomNumberGenerator) -> String {
    let version: UInt64 = 7 << 12
    let variant: UInt64 = 2 << 62
    let high = UInt64(bitPattern: time.milliseconds) << 16 | version | generator.next() & 0xFFF
    let low = variant | generator.next() >> 2
    return digits(high) + digits(low)
  }

  private static func digits(_ number: UInt64) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: 16 - text.utf8.count) + text
  }
}
