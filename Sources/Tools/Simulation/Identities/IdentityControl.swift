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

  let apple = IdentityProvider<AppleProfile>(tokenPrefix: "a")
  let google = IdentityProvider<GoogleProfile>(tokenPrefix: "ya29.a0")
  let facebook = IdentityProvider<FacebookProfile>(tokenPrefix: "EAA")
  let openID = IdentityProvider<OpenIDProfile>(tokenPrefix: "at.")
  let metadata = OpenIDMetadata()
  let seen: Journal<SeenAuthorization>
  let notices: AppleNoticeSender

  func answer(
    _ path: String, _ request: HTTPServerRequest, now: UnixTime
  ) throws(ControlProblem) -> HTTPServerResponse {
    let body = request.body
    switch path {
    case "apple/id-tokens":
      return answer(idToken: try TokenOrder<AppleProfile>.read(body).idToken(apple.keys, now: now), accessToken: nil)
    case "google/id-tokens":
      let order = try TokenOrder<GoogleProfile>.read(body)
      let token = google.users.issue(order, lifetimeSeconds: order.profile.lifetimeSeconds, now: now)
      return answer(idToken: try order.idToken(google.keys, now: now), accessToken: token)
    case "facebook/access-tokens":
      let order = try TokenOrder<FacebookProfile>.read(body)
      let token = facebook.users.issue(order, lifetimeSeconds: FacebookProfile.accessTokenSeconds, now: now)
      return answer(idToken: try order.idToken(facebook.keys, now: now), accessToken: token)
    case "apple/notifications":
      let order = try AppleNoticeOrder.read(body)
      let payload = try order.payload(apple.keys, now: now)
      notices.send(payload, order)
      return .json(status: 201, "{\"payload\":\"\(payload)\"}")
    case "oidc/id-tokens": return try openIDTokens(request, now)
    case "oidc/metadata": return try change(metadata, body)
    case "apple/keys": return try change(apple.keys, body)
    case "google/keys": return try change(google.keys, body)
    case "facebook/keys": return try change(facebook.keys, body)
    case "oidc/keys": return try change(openID.keys, body)
    default: return try add(path, body)
    }
  }

  /// Forgets the users who were to consent next, and the changes of discovery.
  func clear() {
    apple.page.clear()
    google.page.clear()
    facebook.page.clear()
    openID.page.clear()
    metadata.clear()
  }

  private func add(_ path: String, _ body: [UInt8]) throws(ControlProblem) -> HTTPServerResponse {
    switch path {
    case "apple/users": try apple.page.add(.read(body))
    case "google/users": try google.page.add(.read(body))
    case "facebook/users": try facebook.page.add(.read(body))
    default: try openID.page.add(.read(body))
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
    let token = openID.users.issue(order, lifetimeSeconds: OpenIDProfile.tokenSeconds, now: now)
    return answer(idToken: try order.idToken(openID.keys, now: now), accessToken: token)
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

/// Keys, page and users of one provider.
struct IdentityProvider<Profile: PageProfile>: Sendable {
  let keys = ProviderKeys()
  let page = ProviderPage<Profile>()
  let users: UserTokens<Profile>

  init(tokenPrefix: String) { users = UserTokens(prefix: tokenPrefix) }
}
