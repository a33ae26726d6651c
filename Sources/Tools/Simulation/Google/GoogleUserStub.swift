import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// `GET /tokeninfo` and `GET /v1/userinfo`: the user of an access token
/// (https://developers.google.com/identity/openid-connect/openid-connect#obtaininguserprofileinformation).
struct GoogleUserStub: ProviderStub {
  private static let scope =
    "openid https://www.googleapis.com/auth/userinfo.email https://www.googleapis.com/auth/userinfo.profile"

  let provider = Provider.googleUser
  let users: UserTokens<GoogleProfile>

  func call(_ request: HTTPServerRequest, now: UnixTime) throws(ProviderError) -> ProviderCall {
    guard request.method == "GET" else { throw failure(405) }
    let isProfile = request.path == "/v1/userinfo"
    let grant = request.accessToken.flatMap { users[$0] }
    guard let grant, grant.expiresAt > now.seconds else {
      throw isProfile
        ? ProviderError("invalid_request", "Invalid Credentials", status: 401)
        : ProviderError("invalid_token", "Invalid Value")
    }
    return ProviderCall(recipient: grant.profile.clientID) { now in
      let body = isProfile ? Self.profile(grant) : Self.token(grant, now)
      return HTTPServerResponse(status: 200, headers: ["Content-Type": "application/json"], body: body)
    }
  }

  private static func profile(_ grant: UserTokens<GoogleProfile>.Grant) -> [UInt8] {
    var answer = JSONObjectWriter()
    answer.put("sub", grant.form.subject)
    answer.put("email", grant.form.email)
    grant.profile.put(into: &answer, grant.form)
    return answer.finished()
  }

  /// Every value is a text.
  private static func token(_ grant: UserTokens<GoogleProfile>.Grant, _ now: UnixTime) -> [UInt8] {
    var answer = JSONObjectWriter()
    answer.put("azp", grant.profile.azp ?? grant.profile.clientID)
    answer.put("aud", grant.profile.clientID)
    answer.put("sub", grant.form.subject)
    answer.put("scope", scope)
    answer.put("exp", String(grant.expiresAt))
    answer.put("expires_in", String(grant.expiresAt - Int(now.seconds)))
    if let email = grant.form.email {
      answer.put("email", email)
      answer.put("email_verified", grant.profile.emailVerified ?? true ? "true" : "false")
    }
    answer.put("access_type", "online")
    return answer.finished()
  }

  func failure(_ status: Int) -> ProviderError { ProviderError("internal_failure", "Status \(status)", status: status) }
}
