import JOSE

/// IDs of verifications: 128 random bits, base64url, 22 characters. Whoever has one may check codes, so it cannot be guessed.
enum VerificationID {
  static let randomBytes = 16

  /// The longest text that is looked up.
  static let maxLength = 64

  static func text(_ random: some Collection<UInt8>) -> String {
    Base64URL.encode(Array(random))
  }
}
