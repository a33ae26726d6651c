import CountersignCryptography
import CountersignTelemetry

/// Codes that a device and accounts compute from a shared secret and the time (RFC 6238, with the HMAC of RFC 4226): the
/// form that authenticator apps take where nothing else is said.
struct TOTP {
  static let digits = 6
  /// Seconds of a time step.
  static let period = 30
  /// Bytes of a secret (RFC 4226, section 4, R6).
  static let secretLength = 20
  /// Steps by which the device's clock may be off, each way (RFC 6238, section 5.2).
  static let drift: Int64 = 1

  private static let powerOfDigits: UInt32 = 1_000_000
  /// Steps beyond the present one that a last step may lie: those of a host whose clock is ahead.
  private static let furthestAhead = drift + IDTokens.maxSkew.components.seconds / Int64(period)

  let secret: [UInt8]

  /// Step whose code is given, if it counts: it is none of those up to the last one that has counted.
  ///
  /// A last step from far ahead does not matter: the clock was set back, and no code would count until then.
  func step(of code: String, at now: UnixTime, after last: Int?) -> Int? {
    guard let given = Self.bytes(of: code) else { return nil }
    let present = Self.step(at: now)
    var found: Int64?
    // All are compared, and the latest counts: the code is used up with it, whichever steps it is of.
    for step in (present - Self.drift)...(present + Self.drift) where step >= 0 {
      if constantTimeEquals(self.code(of: UInt64(step)), given) { found = step }
    }
    guard let found else { return nil }
    if let last, found <= Int64(last), Int64(last) <= present + Self.furthestAhead { return nil }
    return Int(found)
  }

  /// Negative before 1970. A step has no bound of its own: the smallest and the largest time have one.
  static func step(at now: UnixTime) -> Int64 {
    let (quotient, rest) = now.milliseconds.quotientAndRemainder(dividingBy: Int64(period) * 1000)
    return rest < 0 ? quotient - 1 : quotient
  }

  /// Digits of a step's code, ASCII.
  func code(of step: UInt64) -> [UInt8] {
    let counter = stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: step >> UInt64($0)) }
    let mac = HMAC.authenticate(counter, key: secret, digest: .sha1)
    // The last digit says where the code lies (RFC 4226, section 5.3).
    let offset = Int(mac[mac.count - 1] & 15)
    var rest = mac[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
    rest %= Self.powerOfDigits
    var digits = [UInt8](repeating: UInt8(ascii: "0"), count: Self.digits)
    for index in digits.indices.reversed() {
      digits[index] += UInt8(rest % 10)
      rest /= 10
    }
    return digits
  }

  /// `nil` for anything but six ASCII digits.
  private static func bytes(of code: String) -> [UInt8]? {
    guard code.utf8.count == digits, code.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Array(code.utf8)
  }
}
