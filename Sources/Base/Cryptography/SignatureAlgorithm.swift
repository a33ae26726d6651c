/// Signature algorithm of a JWS (RFC 7518, section 3.1). The key decides it, never the text that is verified.
public enum SignatureAlgorithm: String, Sendable, Hashable {
  /// ECDSA on the curve P-256 with SHA-256.
  case es256 = "ES256"
  /// RSASSA-PKCS1-v1_5 with SHA-256.
  case rs256 = "RS256"

  /// The shortest RSA key in bits that is taken (RFC 7518, section 3.3).
  public static let minRSABits = 2048
  /// The longest one: longer ones take so long that a text to verify could be used to keep a processor busy.
  public static let maxRSABits = 8192
}
