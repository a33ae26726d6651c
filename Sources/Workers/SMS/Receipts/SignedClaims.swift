import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import ServiceRuntime

/// The claims of a JWT with which a provider signs what it sends (RFC 7519, section 4.1), under a secret that both know.
struct SignedClaims: Decodable, Sendable {
  let issuer: String?
  let issuedAt: NumericDate?
  let notBefore: NumericDate?
  let expiresAt: NumericDate?
  /// SHA-256 of the address, in lower-case hexadecimal.
  let urlHash: String?
  /// SHA-256 of the body, in lower-case hexadecimal.
  let payloadHash: String?
  let apiKey: String?

  enum CodingKeys: String, CodingKey {
    case issuer = "iss"
    case issuedAt = "iat"
    case notBefore = "nbf"
    case expiresAt = "exp"
    case urlHash = "url_hash"
    case payloadHash = "payload_hash"
    case apiKey = "api_key"
  }

  /// A time as tokens have it: seconds since 1970, also with a fraction (RFC 7519, section 2).
  struct NumericDate: Decodable, Sendable {
    let time: UnixTime

    /// Further from 1970 than the year 5138 is no time of a token.
    private static let furthest = 1e11

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      let seconds = try container.decode(Double.self)
      guard abs(seconds) <= Self.furthest else {
        throw DecodingError.dataCorruptedError(in: container, debugDescription: "is no time")
      }
      time = UnixTime(milliseconds: Int64(seconds * 1_000))
    }
  }

  /// As long as the longest request, in whose header or URL the token comes.
  private static let reader = JSONReader(maxBytes: ReceiptService.maxBodyBytes)

  /// - Parameter leeway: how far the provider's clock may be from ours.
  /// - Throws: `.forged` unless the issuer signed it with the secret, `.stale` outside the time for which it is valid.
  static func read(
    _ token: String, secret: Secret, issuer: String, leeway: Duration, now: UnixTime
  ) throws(ReceiptRefusal) -> SignedClaims {
    let claims: SignedClaims
    do {
      let payload = try JWS.verify(token, secret: Array(secret.reveal().utf8))
      claims = try reader.decode(SignedClaims.self, from: payload)
    } catch {
      throw .forged
    }
    guard claims.issuer == issuer else { throw .forged }
    if let notBefore = claims.notBefore, notBefore.time - now > leeway { throw .stale }
    if let expiresAt = claims.expiresAt, now - expiresAt.time >= leeway { throw .stale }
    return claims
  }

  /// Whether a hash of the claims is that of some bytes.
  static func isHash(_ claimed: String?, of bytes: [UInt8]) -> Bool {
    guard let claimed else { return false }
    return constantTimeEquals(Array(claimed.utf8), Array(Hexadecimal.encode(SHA256.hash(bytes)).utf8))
  }
}
