import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import ServiceRuntime

/// Claims of a JWT (RFC 7519, section 4.1) by which a provider signs its requests, under a shared secret.
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

  /// A time in seconds since 1970, possibly with a fraction (RFC 7519, section 2).
  struct NumericDate: Decodable, Sendable {
    let time: UnixTime

    /// Maximum distance from 1970, in seconds: until the year 5138.
    private static let furthest = 1e11

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      let seconds = try container.decode(Double.self)
      guard abs(seconds) <= Self.furthest else {
        throw DecodingError.dataCorruptedError(in: container, debugDescription: "is not a time")
      }
      time = UnixTime(milliseconds: Int64(seconds * 1_000))
    }
  }

  /// Reads as much as the longest request, whose header or URL holds the token.
  private static let reader = JSONReader(maxBytes: ReportService.maxBodyBytes)

  static func read(
    _ token: String, secret: Secret, issuer: String, leeway: Duration, now: UnixTime
  ) throws(ReportRefusal) -> SignedClaims {
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

  static func isHash(_ claimed: String?, of bytes: [UInt8]) -> Bool {
    guard let claimed else { return false }
    return constantTimeEquals(Array(claimed.utf8), Array(Hexadecimal.encode(SHA256.hash(bytes)).utf8))
  }
}
