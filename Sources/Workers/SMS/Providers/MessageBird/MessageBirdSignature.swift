import CountersignTelemetry
import HTTPServer

/// Verifies the header `MessageBird-Signature-JWT` (https://developers.messagebird.com/api/#verifying-http-requests):
/// claims about the address and the body, under the account's signing key.
///
/// `jti` is not stored: a repeated report has the same content, and is processed once.
struct MessageBirdSignature: Sendable {
  private static let header = "MessageBird-Signature-JWT"
  private static let issuer = "MessageBird"
  /// As in MessageBird's own libraries (python-rest-api, `request_validator.py`).
  private static let leeway: Duration = .seconds(1)

  let signingKey: Secret

  func check(_ request: HTTPServerRequest, url: String, now: UnixTime) throws(ReportRefusal) {
    guard let token = request.headers[Self.header] else { throw .forged }
    let claims = try SignedClaims.read(
      token, secret: signingKey, issuer: Self.issuer, leeway: Self.leeway, now: now)
    guard claims.notBefore != nil, claims.expiresAt != nil, SignedClaims.isHash(claims.urlHash, of: Array(url.utf8))
    else { throw .forged }
    // A hash without a body is as wrong as a body without a hash: one of them was removed.
    let isOfBody =
      request.body.isEmpty ? claims.payloadHash == nil : SignedClaims.isHash(claims.payloadHash, of: request.body)
    guard isOfBody else { throw .forged }
  }
}
