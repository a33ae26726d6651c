import CountersignEncoding

/// Claims of Google's ID tokens (https://developers.google.com/identity/openid-connect/openid-connect#an-id-tokens-payload).
struct GoogleProfile: PageProfile {
  static let fields: Set<String> = ["clientID", "azp", "emailVerified", "hd", "name", "picture"]

  static let page = Provider.googlePage
  static let responseTypes: Set<String> = ["code", "id_token", "id_token token"]

  let clientID: String
  private(set) var azp: String?
  private(set) var emailVerified: Bool?
  private(set) var hd: String?
  private(set) var name: String?
  private(set) var picture: String?

  init(clientID: String) { self.clientID = clientID }

  var issuer: String { "https://accounts.google.com" }
  var audience: String { clientID }
  var lifetimeSeconds: Int { 3_600 }

  static func problem(_ request: AuthorizationRequest) -> ProviderError? {
    request.scopes.isEmpty ? ProviderError("invalid_request", "Missing required parameter: scope") : nil
  }

  func limited(to scopes: Set<Substring>) -> Self {
    var profile = self
    if !scopes.contains(where: { $0 == "profile" || $0.hasSuffix(".profile") }) {
      (profile.name, profile.picture) = (nil, nil)
    }
    return profile
  }

  func additions(_ request: AuthorizationRequest, _ form: TokenForm, isFirst: Bool) -> [(name: String, value: String)] {
    [("iss", issuer), ("scope", request["scope"] ?? ""), ("authuser", "0"), ("prompt", "none")]
  }

  func put(into claims: inout JSONObjectWriter, _ form: TokenForm, issuedAt: Int) {
    claims.put("azp", azp ?? clientID)
    put(into: &claims, form)
  }

  /// The part that the answer of `userinfo` has, too.
  func put(into claims: inout JSONObjectWriter, _ form: TokenForm) {
    if form.email != nil { claims.put("email_verified", emailVerified ?? true) }
    claims.put("hd", hd)
    claims.put("picture", picture)
    guard let name else { return }
    claims.put("name", name)
    let words = name.split(separator: " ", maxSplits: 1).map(String.init)
    claims.put("given_name", words.first)
    claims.put("family_name", words.count > 1 ? words[1] : nil)
  }
}
