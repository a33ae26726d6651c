import CountersignEncoding

/// Claims of Apple's ID tokens
/// (https://developer.apple.com/documentation/signinwithapple/authenticating-users-with-sign-in-with-apple).
struct AppleProfile: PageProfile {
  static let fields: Set<String> = [
    "clientID", "emailVerified", "isPrivateEmail", "nonceSupported", "textBooleans", "name",
  ]
  static let page = Provider.applePage
  static let responseTypes: Set<String> = ["code", "code id_token"]
  private static let relayDomain = "@privaterelay.appleid.com"

  let clientID: String
  private(set) var emailVerified: Bool?
  private(set) var isPrivateEmail: Bool?
  private(set) var nonceSupported: Bool?
  /// Whether both claims about the address are texts, which Apple permits itself.
  private(set) var textBooleans: Bool?
  /// Given once, and never in an ID token.
  private(set) var name: String?

  init(clientID: String) { self.clientID = clientID }

  var issuer: String { "https://appleid.apple.com" }
  var audience: String { clientID }
  var lifetimeSeconds: Int { 86_400 }

  static func problem(_ request: AuthorizationRequest) -> ProviderError? {
    guard request.scopes.isSubset(of: ["name", "email", "openid"]) else {
      return ProviderError("invalid_scope", "There are the scopes name and email.")
    }
    guard request.scopes.isEmpty || request.responseMode == "form_post" else {
      return ProviderError(
        "invalid_request", "response_mode must be form_post when name or email scope is requested.")
    }
    return nil
  }

  /// Name and address, with the first consent alone
  /// (https://developer.apple.com/documentation/signinwithapple/configuring-your-webpage-for-sign-in-with-apple).
  func additions(_ request: AuthorizationRequest, _ form: TokenForm, isFirst: Bool) -> [(name: String, value: String)] {
    guard isFirst, !request.scopes.isDisjoint(with: ["name", "email"]) else { return [] }
    var user = JSONObjectWriter()
    if request.scopes.contains("name"), let words = name?.split(separator: " ", maxSplits: 1).map(String.init) {
      var name = JSONObjectWriter()
      name.put("firstName", words.first)
      name.put("lastName", words.count > 1 ? words[1] : nil)
      user.put("name", object: name.finished())
    }
    user.put("email", form.email)
    return [("user", String(decoding: user.finished(), as: UTF8.self))]
  }

  func put(into claims: inout JSONObjectWriter, _ form: TokenForm, issuedAt: Int) {
    if let email = form.email {
      put("email_verified", emailVerified ?? true, &claims)
      if isPrivateEmail ?? email.hasSuffix(Self.relayDomain) { put("is_private_email", true, &claims) }
    }
    claims.put("auth_time", issuedAt)
    claims.put("nonce_supported", nonceSupported ?? true)
  }

  private func put(_ name: StaticString, _ value: Bool, _ claims: inout JSONObjectWriter) {
    if textBooleans == true { claims.put(name, value ? "true" : "false") } else { claims.put(name, value) }
  }
}
