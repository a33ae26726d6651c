import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// Exchange of the codes of Google's page
/// (https://developers.google.com/identity/openid-connect/openid-connect#exchangecode).
struct GoogleCodes: Sendable {
  static let grantType = "authorization_code"
  private static let accessTokenSeconds = 3_600

  let google: IdentityProvider<GoogleProfile>
  let clients: ClientCheck

  func call(_ request: HTTPServerRequest, _ form: Form) throws(ProviderError) -> ProviderCall {
    guard !form.hasRepeatedField else { throw ProviderError("invalid_request", "A parameter comes twice.") }
    let client = try clients.client(request, form)
    return ProviderCall(recipient: client) { (now) throws(ProviderError) in
      try answer(try google.page.exchange(form, clientID: client, now: now), now)
    }
  }

  /// An ID token comes with the scope `openid` alone.
  private func answer(
    _ consent: ProviderPage<GoogleProfile>.Consent, _ now: UnixTime
  ) throws(ProviderError) -> HTTPServerResponse {
    let access = consent.accessToken(google.users, lifetimeSeconds: Self.accessTokenSeconds, now: now)
    var answer = JSONObjectWriter()
    answer.put("access_token", access)
    answer.put("expires_in", Self.accessTokenSeconds - 1)
    answer.put("scope", consent.request["scope"])
    answer.put("token_type", "Bearer")
    if consent.scopes.contains("openid") {
      do throws(JOSEError) {
        answer.put("id_token", try consent.idToken(google.keys, accessToken: access, now: now))
      } catch {
        throw ProviderError("internal_failure", error.description, status: 500)
      }
    }
    return HTTPServerResponse(status: 200, headers: ["Content-Type": "application/json"], body: answer.finished())
  }
}
