import CountersignEncoding

/// Claims of Google's ID tokens (https://developers.google.com/identity/openid-connect/openid-connect#an-id-tokens-payload).
struct GoogleProfile: TokenProfile {
  static let fields: Set<String> = ["clientID", "azp", "emailVerified", "hd", "name", "picture"]

  let clientID: String
  let azp: String?
  let emailVerified: Bool?
  let hd: String?
  let name: String?
  let picture: String?

  var issuer: String { "https://accounts.google.com" }
  var audience: String { clientID }
  var lifetimeSeconds: Int { 3_600 }

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
