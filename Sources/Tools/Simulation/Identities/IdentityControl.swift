import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// Pages below `/control` for the identities of Apple, Google, Facebook and the OpenID provider.
struct IdentityControl: Sendable {
  static let paths: Set<String> = [
    "apple/id-tokens", "google/id-tokens", "facebook/access-tokens", "oidc/id-tokens", "apple/keys", "google/keys",
    "facebook/keys", "oidc/keys", "apple/users", "google/users", "facebook/users", "oidc/users", "oidc/metadata",
    "apple/notifications",
  ]

  let apple = ProviderKeys()
  let google = ProviderKeys()
  let facebook = ProviderKeys()
  let openID = ProviderKeys()
  let appleUsers = UserTokens<AppleProfile>(prefix: "a")
  let googleUsers = UserTokens<GoogleProfile>(prefix: "ya29.a0")
  let facebookUsers = UserTokens<FacebookProfile>(prefix: "EAA")
  let openIDUsers = UserTokens<OpenIDProfile>(prefix: "at.")
  let applePage = ProviderPage<AppleProfile>()
  let googlePage = ProviderPage<GoogleProfile>()
  let facebookPage = ProviderPage<FacebookProfile>()
  let openIDPage = ProviderPage<OpenIDProfile>()
  let metadata = OpenIDMetadata()
  let seen: Journal<SeenAuthorization>
  let notices: AppleNoticeSender

  func answer(
    _ path: String, _ request: HTTPServerRequest, now: UnixTime
  ) throws(ControlProblem) -> HTTPServerResponse {
    let body = request.body
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
    case "apple/notifications":
      let order = try AppleNoticeOrder.read(body)
      let payload = try order.payload(apple, now: now)
      notices.send(payload, order)
      return .json(status: 201, "{\"payload\":\"\(payload)\"}")
    case "oidc/id-tokens": return try openIDTokens(request, now)
    case "oidc/metadata": return try change(metadata, body)
    case "apple/keys": return try change(apple, body)
    case "google/keys": return try change(google, body)
    case "facebook/keys": return try change(facebook, body)
    case "oidc/keys": return try change(openID, body)
    default: return try add(path, body)
    }
  }

  /// Forgets the users who were to consent next, and the changes of discovery.
  func clear() {
    applePage.clear()
    googlePage.clear()
    facebookPage.clear()
    openIDPage.clear()
    metadata.clear()
  }

  private func add(_ path: String, _ body: [UInt8]) throws(ControlProblem) -> HTTPServerResponse {
    switch path {
    case "apple/users": try applePage.add(.read(body))
    case "google/users": try googlePage.add(.read(body))
    case "facebook/users": try facebookPage.add(.read(body))
    default: try openIDPage.add(.read(body))
    }
    return .json(status: 201, "{}")
  }

  private func openIDTokens(
    _ request: HTTPServerRequest, _ now: UnixTime
  ) throws(ControlProblem) -> HTTPServerResponse {
    let given = try TokenOrder<OpenIDProfile>.read(request.body)
    var form = given.form
    form.complete(issuer: request.openIDIssuer)
    let order = TokenOrder(form: form, profile: given.profile)
    let token = openIDUsers.issue(order, lifetimeSeconds: OpenIDProfile.tokenSeconds, now: now)
    return answer(idToken: try order.idToken(openID, now: now), accessToken: token)
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

  private func change(_ metadata: OpenIDMetadata, _ body: [UInt8]) throws(ControlProblem) -> HTTPServerResponse {
    do {
      guard let members = try JSONReader.requests.value(of: body).members else { throw ControlProblem("") }
      metadata.change(members)
    } catch {
      throw ControlProblem("the body must be a JSON object: members of discovery, null for one that is missing")
    }
    return .json(status: 201, "{}")
  }
}
