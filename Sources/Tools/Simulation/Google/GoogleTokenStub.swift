import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// `POST /token`: Google's token endpoint, for service accounts
/// (https://developers.google.com/identity/protocols/oauth2/service-account) and for codes of Google's page.
struct GoogleTokenStub: ProviderStub {
  private static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
  private static let maxLifeSeconds: Int64 = 3_600
  /// Google was seen to accept five minutes.
  private static let clockToleranceSeconds: Int64 = 300
  /// The only known scope. For an unknown one, Google returns an ID token and no access token.
  private static let scope = "https://www.googleapis.com/auth/cloud-platform"

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

  let provider = Provider.googleToken
  private let account: (email: String, audience: String, key: VerifyingKey)?
  private let tokens: IssuedTokens
  private let codes: GoogleCodes

  init(_ file: Secret?, tokens: IssuedTokens, codes: GoogleCodes) throws(SimulationError) {
    self.tokens = tokens
    self.codes = codes
    do {
      account = try file.map { file in
        let account = try JSONReader.requests.decode(Account.self, from: file.reveal())
        let key = try VerifyingKey(file: Array(account.privateKey.utf8), id: account.privateKeyID)
        return (email: account.clientEmail, audience: account.tokenURI, key: key)
      }
    } catch let error as JOSEError {
      throw SimulationError(code: .invalidSecret, description: "recaptcha.serviceAccountFile: \(error.description)")
    } catch {
      throw SimulationError(
        code: .invalidSecret, description: "recaptcha.serviceAccountFile is not the JSON of a service account's key")
    }
  }

  func call(_ request: HTTPServerRequest, now: UnixTime) throws(ProviderError) -> ProviderCall {
    let form = Form(request.body)
    if request.method == "POST", request.mediaType == Form.mediaType, form["grant_type"] == GoogleCodes.grantType {
      return try codes.call(request, form)
    }
    return ProviderCall(recipient: account?.email ?? "") { (now) throws(ProviderError) in try token(request, now) }
  }

  private func token(_ request: HTTPServerRequest, _ now: UnixTime) throws(ProviderError) -> HTTPServerResponse {
    guard request.method == "POST", request.mediaType == Form.mediaType else { throw Self.badRequest }
    let form = Form(request.body)
    guard let type = form["grant_type"] else { throw Self.badRequest }
    guard type == Self.grantType else {
      throw ProviderError("unsupported_grant_type", "Invalid grant_type: \(type)")
    }
    guard let assertion = form["assertion"], !form.hasRepeatedField else { throw Self.badRequest }
    guard try grantsAccess(assertion, now) else { return .json(status: 200, "{\"id_token\":\"e30.e30.e30\"}") }
    // One second less than the lifetime, as Google's.
    return .json(
      status: 200,
      """
      {"access_token":\(JSONString.quote(tokens.issue(now: now))),"expires_in":\(IssuedTokens.life.components.seconds - 1),\
      "token_type":"Bearer"}
      """)
  }

  /// Checks an assertion as `oauth2.googleapis.com` does: signature, account, times, scope and audience, in this order
  /// (https://developers.google.com/identity/protocols/oauth2/service-account, "Forming the JWT claim set").
  private func grantsAccess(_ assertion: String, _ now: UnixTime) throws(ProviderError) -> Bool {
    guard let account else { throw Self.grant("Invalid grant: account not found") }
    let claims = try claims(assertion, account.key)
    guard claims.iss == account.email else { throw Self.grant("Invalid grant: account not found") }
    guard let issuedAt = claims.iat else { throw Self.grant("Invalid JWT: iat (issued at) is not set.") }
    guard let expiresAt = claims.exp else { throw Self.grant("Invalid JWT: exp (expiration time) is not set.") }
    guard issuedAt <= now.seconds + Self.clockToleranceSeconds, expiresAt >= now.seconds, expiresAt > issuedAt,
      expiresAt - issuedAt <= Self.maxLifeSeconds
    else {
      throw Self.grant(
        "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
          + "Check your iat and exp values in the JWT claim.")
    }
    let scopes = (claims.scope ?? "").split(separator: " ")
    guard !scopes.isEmpty else {
      throw ProviderError("invalid_scope", "Invalid OAuth scope or ID token audience provided.")
    }
    guard claims.aud == account.audience else { throw Self.grant("Invalid JWT: Failed audience check.") }
    return scopes.allSatisfy { $0 == Self.scope }
  }

  private func claims(_ assertion: String, _ key: VerifyingKey) throws(ProviderError) -> TokenClaims {
    let payload: [UInt8]
    do throws(JOSEError) { payload = try JWS.verify(assertion, with: key).payload } catch {
      throw error.code == .malformed ? Self.badRequest : Self.grant("Invalid JWT Signature.")
    }
    do { return try JSONReader.requests.decode(TokenClaims.self, from: payload) } catch { throw Self.badRequest }
  }

  /// Error for any unreadable assertion, without a reason, as Google's.
  private static let badRequest = ProviderError("invalid_request", "Bad Request")

  private static func grant(_ text: String) -> ProviderError { ProviderError("invalid_grant", text) }

  func failure(_ status: Int) -> ProviderError {
    ProviderError(status >= 500 ? "internal_failure" : "invalid_request", "A fault was ordered.", status: status)
  }
}
