import CountersignCryptography
import CountersignEncoding
import CountersignMessages

/// Hash of an access token in the ID token that came with it (OpenID Connect Core 1.0, section 3.1.3.6).
enum AccessTokenHash {
  /// - Throws: `INVALID_IDP_RESPONSE` when the ID token names another one.
  static func check(_ accessToken: String, _ claims: ProviderClaims) throws(APIError) {
    guard let claimed = claims.text("at_hash") else { return }
    guard claimed == make(accessToken) else {
      throw .invalidIDPResponse("the access token is not the one that came with the ID token")
    }
  }

  /// The algorithms that are taken all hash with SHA-256.
  static func make(_ accessToken: String) -> String {
    Base64URL.encode(Array(SHA256.hash(Array(accessToken.utf8)).prefix(16)))
  }
}
