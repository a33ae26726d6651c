import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry

/// IDs of verifications and of the coordinator's other operations: 48 bits of time in milliseconds and 128 random bits,
/// base64url, 30 characters. An ID entitles its holder to check codes, so it cannot be guessed.
///
/// The time comes first so that operations begun together are neighbors in the indexes: a commit then writes few pages.
enum VerificationID {
  static let randomBytes = 16

  /// The longest text that is looked up.
  static let maxLength = 64

  static func make(at now: UnixTime) -> String { text(at: now, SecureRandom.bytes(randomBytes)) }

  static func text(at now: UnixTime, _ random: some Collection<UInt8>) -> String {
    let time = UInt64(bitPattern: now.milliseconds)
    return Base64URL.encode((0..<6).map { UInt8(truncatingIfNeeded: time >> (40 - 8 * $0)) } + Array(random))
  }
}
