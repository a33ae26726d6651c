/// Keys of Google in the configuration.
struct GoogleSettings: ProviderSettings {
  static let section = "google"
  static let id = "google.com"

  let keysURL: String
  let issuers: Set<String>
  let tokenInfoURL: String
  let userInfoURL: String
  let authorizeURL: String
  let tokenURL: String

  init(_ section: ProviderSection) {
    keysURL = section.url(
      "keysURL", default: "https://www.googleapis.com/oauth2/v3/certs",
      "Address of the keys that verify Google's ID tokens.")
    issuers = section.issuers(default: ["https://accounts.google.com", "accounts.google.com"])
    tokenInfoURL = section.url(
      "tokeninfoURL", default: "https://oauth2.googleapis.com/tokeninfo",
      "Address that says whom an access token was issued to.")
    userInfoURL = section.url(
      "userinfoURL", default: "https://openidconnect.googleapis.com/v1/userinfo",
      "Address of the profile of an access token's user.")
    authorizeURL = section.url(
      "authorizeURL", default: "https://accounts.google.com/o/oauth2/v2/auth",
      "Address of the page that browsers open.")
    tokenURL = section.url(
      "tokenURL", default: "https://oauth2.googleapis.com/token", "Address that gives tokens for the page's codes.")
  }

  func make(_ context: ProviderContext) -> any IdentityProvider {
    SignInWithGoogle(
      tokens: ProviderTokens(of: Self.id, issuers: issuers, keysURL: keysURL, context),
      profiles: ProfileFetch(provider: Self.id, context: context), tokenInfoURL: tokenInfoURL,
      userInfoURL: userInfoURL,
      page: ProviderPage(of: Self.id, authorizeURL: authorizeURL, tokenURL: tokenURL, context),
      secrets: context.secrets)
  }
}
