import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// Exchange of the codes of Facebook's page, whose parameters stand in the query or in a form
/// (https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow#confirm).
struct FacebookCodes: Sendable {
  private static let badSecret = 1
  private static let badCode = 100

  let settings: FacebookSettings
  let facebook: IdentityProvider<FacebookProfile>

  func call(_ request: HTTPServerRequest) throws(ProviderError) -> ProviderCall {
    let form = request.method == "POST" ? Form(request.body) : Form(FormEncoding.encode(request.query))
    guard form["client_id"] == settings.appID else {
      throw FacebookGraphStub.refusal(101, "Error validating application. Cannot get application info.")
    }
    guard settings.appSecret.matches(form["client_secret"]) else {
      throw FacebookGraphStub.refusal(Self.badSecret, "Error validating client secret.")
    }
    return ProviderCall(recipient: settings.appID) { (now) throws(ProviderError) in
      do throws(ProviderError) {
        return try answer(try facebook.page.exchange(form, clientID: settings.appID, now: now), now)
      } catch {
        throw error.status == 500 ? error : FacebookGraphStub.refusal(Self.badCode, error.text)
      }
    }
  }

  /// An ID token comes with the scope `openid` alone.
  private func answer(
    _ consent: ProviderPage<FacebookProfile>.Consent, _ now: UnixTime
  ) throws(ProviderError) -> HTTPServerResponse {
    let seconds = FacebookProfile.accessTokenSeconds
    var answer = JSONObjectWriter()
    answer.put("access_token", consent.accessToken(facebook.users, lifetimeSeconds: seconds, now: now))
    answer.put("token_type", "bearer")
    answer.put("expires_in", seconds)
    if consent.scopes.contains("openid") {
      do throws(JOSEError) {
        answer.put("id_token", try consent.idToken(facebook.keys, accessToken: nil, now: now))
      } catch {
        throw ProviderError("2", error.description, status: 500, detail: "OAuthException")
      }
    }
    return HTTPServerResponse(status: 200, headers: ["Content-Type": "application/json"], body: answer.finished())
  }
}
