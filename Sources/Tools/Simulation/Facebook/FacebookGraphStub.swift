import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// `GET /{version}/debug_token` and `GET /{version}/me` of Facebook's Graph API, for an app that demands proofs
/// (https://developers.facebook.com/docs/graph-api/guides/secure-requests), and its exchange of codes.
struct FacebookGraphStub: ProviderStub {
  private static let badToken = 190
  private static let badParameter = 100

  let provider = Provider.facebookGraph
  let settings: FacebookSettings
  let users: UserTokens<FacebookProfile>
  let codes: FacebookCodes

  /// Whether a path begins with a version of the API.
  static func isVersion(_ part: Substring) -> Bool {
    let numbers = part.dropFirst().split(separator: ".", omittingEmptySubsequences: false)
    return part.first == "v" && numbers.count == 2 && numbers.allSatisfy { UInt8($0) != nil }
  }

  func call(_ request: HTTPServerRequest, now: UnixTime) throws(ProviderError) -> ProviderCall {
    let parts = request.path.split(separator: "/").dropFirst()
    switch (request.method, parts.joined(separator: "/")) {
    case ("GET", "debug_token"): return try debug(request)
    case ("GET", "me"): return try profile(request, now)
    case ("GET", "oauth/access_token"), ("POST", "oauth/access_token"): return try codes.call(request)
    default: throw Self.refusal(2500, "Unknown path components: /\(parts.joined(separator: "/"))")
    }
  }

  private func debug(_ request: HTTPServerRequest) throws(ProviderError) -> ProviderCall {
    guard Secret("\(settings.appID)|\(settings.appSecret.reveal())").matches(request.accessToken) else {
      throw Self.refusal(Self.badToken, "Invalid OAuth access token signature.")
    }
    guard let token = request.parameter("input_token"), !token.isEmpty else {
      throw Self.refusal(Self.badParameter, "(#100) The parameter input_token is required")
    }
    let grant = users[token]
    guard grant.map({ $0.profile.appID == settings.appID }) ?? true else {
      throw Self.refusal(
        Self.badParameter, "(#100) The App_id in the input_token did not match the Viewing App")
    }
    return ProviderCall(recipient: settings.appID) { now in
      HTTPServerResponse.json(status: 200, "{\"data\":\(grant.map { state($0, now) } ?? Self.malformed)}")
    }
  }

  private static let malformed =
    "{\"error\":{\"code\":\(badToken),\"message\":\"Invalid OAuth access token data.\"},\"is_valid\":false,\"scopes\":[]}"

  private func state(_ grant: UserTokens<FacebookProfile>.Grant, _ now: UnixTime) -> String {
    let isValid = grant.expiresAt > now.seconds
    let problem =
      isValid
      ? ""
      : """
      "error":{"code":\(Self.badToken),"message":"Error validating access token: Session has expired.","subcode":463},
      """
    return """
      {"app_id":"\(settings.appID)","type":"USER","application":"Example",\(problem)\
      "data_access_expires_at":\(grant.expiresAt),"expires_at":\(grant.expiresAt),"is_valid":\(isValid),\
      "issued_at":\(grant.issuedAt),"scopes":["email","public_profile"],\
      "user_id":\(JSONString.quote(grant.form.subject))}
      """
  }

  private func profile(_ request: HTTPServerRequest, _ now: UnixTime) throws(ProviderError) -> ProviderCall {
    guard let token = request.accessToken, let grant = users[token] else {
      throw Self.refusal(Self.badToken, "Invalid OAuth access token - Cannot parse access token")
    }
    guard grant.expiresAt > now.seconds else {
      throw Self.refusal(Self.badToken, "Error validating access token: Session has expired.")
    }
    guard let proof = request.parameter("appsecret_proof") else {
      throw Self.refusal(
        Self.badParameter, "API calls from the server require an appsecret_proof argument", type: "GraphMethodException"
      )
    }
    let code = HMACSHA256.authenticate(Array(token.utf8), key: Array(settings.appSecret.reveal().utf8))
    guard grant.profile.appID == settings.appID, Secret(Hexadecimal.encode(code)).matches(proof) else {
      throw Self.refusal(
        Self.badParameter, "Invalid appsecret_proof provided in the API argument", type: "GraphMethodException")
    }
    let fields = (request.parameter("fields") ?? "name").split(separator: ",")
    return ProviderCall(recipient: settings.appID) { _ in
      HTTPServerResponse(
        status: 200, headers: ["Content-Type": "application/json"], body: Self.profile(grant, Set(fields)))
    }
  }

  /// The fields that were asked for, as far as the user has them.
  private static func profile(_ grant: UserTokens<FacebookProfile>.Grant, _ fields: Set<Substring>) -> [UInt8] {
    var answer = JSONObjectWriter()
    answer.put("id", grant.form.subject)
    if fields.contains("name") { answer.put("name", grant.profile.name) }
    if fields.contains("first_name") { answer.put("first_name", grant.profile.firstName) }
    if fields.contains("last_name") { answer.put("last_name", grant.profile.lastName) }
    if fields.contains("email") { answer.put("email", grant.form.email) }
    if fields.contains("picture"), let url = grant.profile.picture {
      var data = JSONObjectWriter()
      data.put("height", 50)
      data.put("is_silhouette", false)
      data.put("url", url)
      data.put("width", 50)
      var picture = JSONObjectWriter()
      picture.put("data", object: data.finished())
      answer.put("picture", object: picture.finished())
    }
    return answer.finished()
  }

  static func refusal(_ code: Int, _ text: String, type: String = "OAuthException") -> ProviderError {
    ProviderError(String(code), text, detail: type)
  }

  func failure(_ status: Int) -> ProviderError {
    ProviderError("2", "An unexpected error has occurred.", status: status, detail: "OAuthException")
  }

  func response(to error: ProviderError, _ request: HTTPServerRequest) -> HTTPServerResponse {
    .json(
      status: error.status,
      """
      {"error":{"message":\(JSONString.quote(error.text)),"type":\(JSONString.quote(error.detail ?? "OAuthException")),\
      "code":\(error.code),"fbtrace_id":"A\(Hexadecimal.encode(SecureRandom.bytes(8)))"}}
      """)
  }
}
