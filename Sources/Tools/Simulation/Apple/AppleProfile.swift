import CountersignEncoding

/// Claims of Apple's ID tokens
/// (https://developer.apple.com/documentation/signinwithapple/authenticating-users-with-sign-in-with-apple).
struct AppleProfile: TokenProfile {
  static let fields: Set<String> = ["clientID", "emailVerified", "isPrivateEmail", "nonceSupported", "textBooleans"]
  private static let relayDomain = "@privaterelay.appleid.com"

  let clientID: String
  private(set) var emailVerified: Bool?
  private(set) var isPrivateEmail: Bool?
  private(set) var nonceSupported: Bool?
  /// Whether both claims about the address are texts, which Apple permits itself.
  private(set) var textBooleans: Bool?

  init(clientID: String) { self.clientID = clientID }

  var issuer: String { "https://appleid.apple.com" }
  var audience: String { clientID }
  var lifetimeSeconds: Int { 86_400 }

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
