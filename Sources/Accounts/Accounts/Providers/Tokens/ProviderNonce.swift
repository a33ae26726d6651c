import CountersignCryptography
import CountersignEncoding
import CountersignMessages

/// Nonce of a token whose provider was given the SHA-256 of the app's nonce.
enum ProviderNonce {
  /// - Parameters:
  ///   - raw: the app's nonce.
  ///   - mayBeAbsent: whether the provider may have left it out of the token.
  /// - Throws: `MISSING_OR_INVALID_NONCE`.
  static func check(_ raw: String?, _ claims: ProviderClaims, mayBeAbsent: Bool) throws(APIError) {
    let raw = raw.flatMap { $0.isEmpty ? nil : $0 }
    guard let claimed = claims["nonce"] else {
      guard raw == nil || mayBeAbsent else { throw .wrongNonce }
      return
    }
    guard let raw else { throw .nonceMissing }
    guard claimed.text == hash(raw) else { throw .wrongNonce }
  }

  /// In hexadecimal, as apps give it to providers.
  static func hash(_ raw: String) -> String { Hexadecimal.encode(SHA256.hash(Array(raw.utf8))) }
}
