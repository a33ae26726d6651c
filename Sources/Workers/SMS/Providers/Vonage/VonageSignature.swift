import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// Verifies the signature of Vonage's delivery receipts: the parameter `sig`, an HMAC of all other parameters
/// (https://developer.vonage.com/getting-started/concepts/signing-messages), or a JWT with a hash of the body
/// (https://developer.vonage.com/messages/concepts/signed-webhooks).
struct VonageSignature: Sendable {
  /// Method of `sig`, as the account's settings call it. HMAC-MD5 and a hash with the secret appended are not accepted.
  enum Method: String, Sendable, CaseIterable {
    case sha1, sha256, sha512

    fileprivate var digest: HMAC.Digest {
      switch self {
      case .sha1: .sha1
      case .sha256: .sha256
      case .sha512: .sha512
      }
    }
  }

  /// Vonage repeats a receipt for 24 hours until it is taken, and does not document that it signs it again.
  static let maxAge: Duration = .seconds(25 * 3600)
  /// Maximum time by which Vonage's clock may be ahead of ours.
  private static let leeway: Duration = .seconds(30)
  private static let bearer = "Bearer "
  private static let issuer = "Vonage"

  let apiKey: String
  let secret: Secret
  let method: Method

  func check(_ request: HTTPServerRequest, _ fields: [(name: String, value: String)], now: UnixTime)
    throws(ReportRefusal)
  {
    let signedAt =
      if let authorization = request.headers["Authorization"], authorization.hasPrefix(Self.bearer) {
        try timeOfToken(String(authorization.dropFirst(Self.bearer.count)), request.body, now)
      } else {
        try timeOfFields(fields)
      }
    guard now - signedAt <= Self.maxAge, signedAt - now <= Self.leeway else { throw .stale }
  }

  /// The token does not cover the address, so a query proves nothing: the receipt has to be in the body.
  private func timeOfToken(_ token: String, _ body: [UInt8], _ now: UnixTime) throws(ReportRefusal) -> UnixTime {
    let claims = try SignedClaims.read(
      token, secret: secret, issuer: Self.issuer, leeway: Self.leeway, now: now)
    guard !body.isEmpty, SignedClaims.isHash(claims.payloadHash, of: body), claims.apiKey == apiKey,
      let issuedAt = claims.issuedAt
    else { throw .forged }
    return issuedAt.time
  }

  private func timeOfFields(_ fields: [(name: String, value: String)]) throws(ReportRefusal) -> UnixTime {
    func value(_ name: String) -> String? { fields.first { $0.name == name }?.value }
    guard let given = value("sig"), let time = value("timestamp").flatMap({ Int64($0) }),
      constantTimeEquals(Array(given.lowercased().utf8), Array(code(of: fields).utf8))
    else { throw .forged }
    return UnixTime(seconds: time)
  }

  /// Signature of parameters: `&name=value` in the order of the names, with `_` for characters that would end a value.
  func code(of fields: [(name: String, value: String)]) -> String {
    let text = fields.filter { $0.name != "sig" }
      .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
      .map { "&\($0.name)=" + String($0.value.map { $0 == "&" || $0 == "=" ? "_" : $0 }) }.joined()
    return Hexadecimal.encode(
      HMAC.authenticate(Array(text.utf8), key: Array(secret.reveal().utf8), digest: method.digest))
  }
}
