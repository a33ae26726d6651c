import FoundationEssentials
import GuardedJSON
import JOSE
import ServiceRuntime
import Telemetry

/// The claims of a JWT with which a provider signs what it sends (RFC 7519, section 4.1), under a secret that both know.
struct SignedClaims: Decodable, Sendable {
  let issuer: String?
  let issuedAt: Int64?
  let notBefore: Int64?
  let expiresAt: Int64?
  /// SHA-256 of the address, in hexadecimal.
  let urlHash: String?
  /// SHA-256 of the body, in hexadecimal.
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

  /// How far a provider's clock may be from ours.
  static let leeway: Duration = .seconds(30)

  /// As long as the longest request, in whose header or URL the token comes.
  private static let reader = JSONReader(maxBytes: HTTPRoutes.maxBodyBytes)

  /// - Throws: `.forged` unless the issuer signed it with the secret, `.stale` outside the time for which it is valid.
  static func read(
    _ token: String, secret: Secret, issuer: String, now: UnixTime
  ) throws(ReceiptRefusal) -> SignedClaims {
    let claims: SignedClaims
    do {
      let payload = try JWS.verify(token, secret: Array(secret.reveal().utf8))
      claims = try reader.decode(SignedClaims.self, from: payload)
    } catch {
      throw .forged
    }
    guard claims.issuer == issuer else { throw .forged }
    if let notBefore = claims.notBefore, UnixTime(seconds: notBefore) - now > leeway { throw .stale }
    if let expiresAt = claims.expiresAt, now - UnixTime(seconds: expiresAt) >= leeway { throw .stale }
    return claims
  }

  /// Whether a hash of the claims is that of some bytes.
  static func isHash(_ claimed: String?, of bytes: [UInt8]) -> Bool {
    guard let claimed else { return false }
    return constantTimeEquals(Array(claimed.lowercased().utf8), Array(Hexadecimal.encode(SHA256.hash(bytes)).utf8))
  }
}
