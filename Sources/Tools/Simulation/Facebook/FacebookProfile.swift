import CountersignEncoding

/// A user of an app, and the claims of the ID token that Limited Login gives
/// (https://developers.facebook.com/docs/facebook-login/limited-login/token).
struct FacebookProfile: TokenProfile {
  static let fields: Set<String> = ["appID", "name", "picture"]
  /// Sixty days, as of a token of an app.
  static let accessTokenSeconds = 5_184_000

  let appID: String
  let name: String?
  let picture: String?

  var issuer: String { "https://limited.facebook.com" }
  var audience: String { appID }
  var lifetimeSeconds: Int { 3_600 }
  var firstName: String? { words.first }
  var lastName: String? { words.count > 1 ? words[1] : nil }

  private var words: [String] { (name ?? "").split(separator: " ", maxSplits: 1).map(String.init) }

  func put(into claims: inout JSONObjectWriter, _ form: TokenForm, issuedAt: Int) {
    claims.put("name", name)
    claims.put("given_name", firstName)
    claims.put("family_name", lastName)
    claims.put("picture", picture)
  }
}
