import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// `POST /auth/token` and `POST /auth/revoke`: Sign in with Apple
/// (https://developer.apple.com/documentation/signinwithapplerestapi).
struct AppleIDStub: ProviderStub {
  static let errors: Set<String> = [
    "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
    "invalid_scope",
  ]
  private static let accessTokenSeconds = 3_600
  /// Six months, in Apple's own number.
  private static let maxLifetimeSeconds: Int64 = 15_777_000
  private static let clockToleranceSeconds: Int64 = 60

  /// `appleToken` or `appleRevoke`: the request that it answers.
  let provider: Provider
  let settings: AppleIDSettings
  let keys: TokenKeys
  let idTokenKeys: ProviderKeys
  let grants: GrantStore
  let revocations: Journal<ReceivedRevocation>

  func call(_ request: HTTPServerRequest, now: UnixTime) throws(ProviderError) -> ProviderCall {
    guard request.method == "POST", request.mediaType == Form.mediaType else {
      throw ProviderError("invalid_request", "POST with a form is expected")
    }
    let form = Form(request.body)
    guard !form.hasRepeatedField else { throw ProviderError("invalid_request", "a parameter comes twice") }
    let clientID = try client(form, now)
    if provider == .appleToken {
      return ProviderCall(recipient: clientID) { (now) throws(ProviderError) in
        try answer(try tokens(form, clientID, now), now)
      }
    }
    guard let token = form["token"] else { throw ProviderError("invalid_request", "token is required") }
    return ProviderCall(recipient: clientID) { now in
      // Every token is answered with 200 and no body, even one that was never issued.
      revocations.append(
        ReceivedRevocation(
          clientID: clientID, token: token, tokenTypeHint: form["token_type_hint"],
          code: grants.revoke(token: token, clientID: clientID), receivedAt: now),
        key: token)
      return HTTPServerResponse(status: 200)
    }
  }

  /// Client ID of a form with a valid client secret
  /// (https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret). Apple does
  /// not distinguish the causes of a refusal.
  private func client(_ form: Form, _ now: UnixTime) throws(ProviderError) -> String {
    guard let clientID = form["client_id"], let secret = form["client_secret"] else {
      throw ProviderError("invalid_request", "client_id and client_secret are required")
    }
    guard settings.clientIDs.contains(clientID), let (_, claims) = keys.verify(secret),
      claims.iss == settings.teamID, claims.sub == clientID, claims.aud == settings.audience,
      let issuedAt = claims.iat, let expiresAt = claims.exp,
      issuedAt <= now.seconds + Self.clockToleranceSeconds, expiresAt > now.seconds,
      expiresAt - issuedAt <= Self.maxLifetimeSeconds
    else { throw ProviderError("invalid_client") }
    return clientID
  }

  private func tokens(_ form: Form, _ clientID: String, _ now: UnixTime) throws(ProviderError) -> GrantStore.Tokens {
    switch form["grant_type"] {
    case "authorization_code":
      guard let code = form["code"] else { throw ProviderError("invalid_request", "code is required") }
      return try grants.exchange(code: code, clientID: clientID, redirectURI: form["redirect_uri"], now: now)
    case "refresh_token":
      guard let token = form["refresh_token"] else {
        throw ProviderError("invalid_request", "refresh_token is required")
      }
      return try grants.refresh(token: token, clientID: clientID)
    case nil: throw ProviderError("invalid_request", "grant_type is required")
    default: throw ProviderError("unsupported_grant_type")
    }
  }

  private func answer(_ tokens: GrantStore.Tokens, _ now: UnixTime) throws(ProviderError) -> HTTPServerResponse {
    let idToken: String
    do throws(JOSEError) {
      let user = tokens.code.user
      idToken = try idTokenKeys.sign(user.form.claims(user.profile, now: now), user.form)
    } catch {
      throw failure(500)
    }
    let refresh = tokens.refresh.map { ",\"refresh_token\":\(JSONString.quote($0))" } ?? ""
    return .json(
      status: 200,
      """
      {"access_token":\(JSONString.quote(tokens.access)),"token_type":"Bearer",\
      "expires_in":\(Self.accessTokenSeconds),"id_token":"\(idToken)"\(refresh)}
      """)
  }

  func failure(_ status: Int) -> ProviderError { ProviderError("", status: status) }

  /// `{"error": …}` with status 400 (https://developer.apple.com/documentation/signinwithapplerestapi/errorresponse).
  /// For any other status a body that a client cannot read.
  func response(to error: ProviderError, _ request: HTTPServerRequest) -> HTTPServerResponse {
    guard !error.code.isEmpty else { return error.page }
    let more = error.text.isEmpty ? "" : ",\"error_description\":\(JSONString.quote(error.text))"
    return .json(status: 400, "{\"error\":\"\(error.code)\"\(more)}")
  }
}

struct ReceivedRevocation: Sendable {
  let clientID: String
  let token: String
  let tokenTypeHint: String?
  /// `nil` for a token that was not issued here.
  let code: String?
  let receivedAt: UnixTime

  var json: String {
    """
    {"clientID":\(JSONString.quote(clientID)),"token":\(JSONString.quote(token)),\
    "tokenTypeHint":\(JSONString.quote(tokenTypeHint)),"code":\(JSONString.quote(code)),"isKnown":\(code != nil),\
    "receivedAt":"\(receivedAt.rfc3339)"}
    """
  }
}
