/// Keys of Sign in with Apple in the configuration.
struct AppleSettings: ProviderSettings {
  static let section = "apple"
  static let id = "apple.com"

  let keysURL: String
  let issuers: Set<String>
  let authorizeURL: String
  let tokenURL: String

  init(_ section: ProviderSection) {
    keysURL = section.url(
      "keysURL", default: "https://appleid.apple.com/auth/keys", "Address of the keys that verify Apple's ID tokens.")
    // The second was seen for some days in 2025.
    issuers = section.issuers(default: ["https://appleid.apple.com", "https://account.apple.com"])
    authorizeURL = section.url(
      "authorizeURL", default: "https://appleid.apple.com/auth/authorize", "Address of the page that browsers open.")
    tokenURL = section.url(
      "tokenURL", default: "https://appleid.apple.com/auth/token", "Address that gives tokens for the page's codes.")
  }

  func make(_ context: ProviderContext) -> any IdentityProvider {
    SignInWithApple(
      tokens: ProviderTokens(of: Self.id, issuers: issuers, keysURL: keysURL, context),
      page: ProviderPage(of: Self.id, authorizeURL: authorizeURL, tokenURL: tokenURL, context),
      secrets: context.secrets, grants: context.grants)
  }
}
