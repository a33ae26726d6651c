import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry

/// Checks the assertion of a service account as `oauth2.googleapis.com` does: signature, account, times, scope and
/// audience, in this order
/// (https://developers.google.com/identity/protocols/oauth2/service-account, "Forming the JWT claim set").
struct AssertionCheck: Sendable {
  static let maxLifeSeconds: Int64 = 3_600
  /// Maximum time that the sender's clock may be ahead: Google was seen to accept five minutes.
  static let clockToleranceSeconds: Int64 = 300
  /// The only known scope. For an unknown one, Google returns an ID token and no access token.
  static let scope = "https://www.googleapis.com/auth/cloud-platform"

  /// The part of the account's file that Google has, too.
  private struct Account: Decodable {
    let clientEmail: String
    let privateKey: String
    let privateKeyID: String
    let tokenURI: String

    enum CodingKeys: String, CodingKey {
      case clientEmail = "client_email"
      case privateKey = "private_key"
      case privateKeyID = "private_key_id"
      case tokenURI = "token_uri"
    }
  }

  private struct Claims: Decodable {
    let iss: String?
    let scope: String?
    let aud: String?
    let iat: Int64?
    let exp: Int64?
  }

  let email: String
  private let audience: String
  private let key: VerifyingKey

  init(_ file: Secret) throws(SimulationError) {
    do {
      let account = try JSONReader.requests.decode(Account.self, from: file.reveal())
      email = account.clientEmail
      audience = account.tokenURI
      key = try VerifyingKey(file: Array(account.privateKey.utf8), id: account.privateKeyID)
    } catch let error as JOSEError {
      throw SimulationError(code: .invalidSecret, description: "recaptcha.serviceAccountFile: \(error.description)")
    } catch {
      throw SimulationError(
        code: .invalidSecret, description: "recaptcha.serviceAccountFile is not the JSON of a service account's key")
    }
  }

  func check(_ assertion: String, now: UnixTime) throws(GoogleTokenError) -> Bool {
    let claims = try claims(assertion)
    guard claims.iss == email else { throw .account }
    guard let issuedAt = claims.iat else { throw .issuedAt }
    guard let expiresAt = claims.exp else { throw .expiresAt }
    guard issuedAt <= now.seconds + Self.clockToleranceSeconds, expiresAt >= now.seconds, expiresAt > issuedAt,
      expiresAt - issuedAt <= Self.maxLifeSeconds
    else { throw .time }
    let scopes = (claims.scope ?? "").split(separator: " ")
    guard !scopes.isEmpty else { throw .scope }
    guard claims.aud == audience else { throw .audience }
    return scopes.allSatisfy { $0 == Self.scope }
  }

  private func claims(_ assertion: String) throws(GoogleTokenError) -> Claims {
    let payload: [UInt8]
    do throws(JOSEError) { payload = try JWS.verify(assertion, with: key).payload } catch {
      throw error.code == .malformed ? .badRequest : .signature
    }
    do { return try JSONReader.requests.decode(Claims.self, from: payload) } catch { throw .badRequest }
  }
}
