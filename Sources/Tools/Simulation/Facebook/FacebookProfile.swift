import CountersignEncoding

/// A user of an app, and the claims of the ID token that Limited Login gives
/// (https://developers.facebook.com/docs/facebook-login/limited-login/token).
struct FacebookProfile: PageProfile {
  static let fields: Set<String> = ["appID", "name", "picture"]
  /// Sixty days, as of a token of an app.
  static let accessTokenSeconds = 5_184_000

  static let page = Provider.facebookPage
  static let responseTypes: Set<String> = ["", "code"]
  static let responseModes: Set<String> = ["query"]

  let appID: String
  private(set) var name: String?
  private(set) var picture: String?

  init(clientID: String) { appID = clientID }

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
