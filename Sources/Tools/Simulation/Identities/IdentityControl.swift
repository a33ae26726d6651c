import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// Pages below `/control` for the identities of Apple, Google and Facebook.
struct IdentityControl: Sendable {
  static let paths: Set<String> = [
    "apple/id-tokens", "google/id-tokens", "facebook/access-tokens", "apple/keys", "google/keys", "facebook/keys",
  ]

  let apple = ProviderKeys()
  let google = ProviderKeys()
  let facebook = ProviderKeys()
  let googleUsers = UserTokens<GoogleProfile>(prefix: "ya29.a0")
  let facebookUsers = UserTokens<FacebookProfile>(prefix: "EAA")

  func answer(_ path: String, _ body: [UInt8], now: UnixTime) throws(ControlProblem) -> HTTPServerResponse {
    switch path {
    case "apple/id-tokens":
      return answer(idToken: try TokenOrder<AppleProfile>.read(body).idToken(apple, now: now), accessToken: nil)
    case "google/id-tokens":
      let order = try TokenOrder<GoogleProfile>.read(body)
      let token = googleUsers.issue(order, lifetimeSeconds: order.profile.lifetimeSeconds, now: now)
      return answer(idToken: try order.idToken(google, now: now), accessToken: token)
    case "facebook/access-tokens":
      let order = try TokenOrder<FacebookProfile>.read(body)
      let token = facebookUsers.issue(order, lifetimeSeconds: FacebookProfile.accessTokenSeconds, now: now)
      return answer(idToken: try order.idToken(facebook, now: now), accessToken: token)
    case "apple/keys": return try change(apple, body)
    case "google/keys": return try change(google, body)
    default: return try change(facebook, body)
    }
  }

  private func answer(idToken: String, accessToken: String?) -> HTTPServerResponse {
    let access = accessToken.map { ",\"accessToken\":\"\($0)\"" } ?? ""
    return .json(status: 201, "{\"idToken\":\"\(idToken)\"\(access)}")
  }

  private func change(_ keys: ProviderKeys, _ body: [UInt8]) throws(ControlProblem) -> HTTPServerResponse {
    let order = try KeysOrder.read(body)
    do throws(JOSEError) {
      let ids = try keys.change(order).map { "\"\($0)\"" }
      return .json(status: 201, "{\"keyIDs\":[\(ids.joined(separator: ","))]}")
    } catch {
      throw ControlProblem(status: 500, error.description)
    }
  }
}
