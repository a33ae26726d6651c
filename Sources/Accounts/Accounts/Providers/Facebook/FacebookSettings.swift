import ServiceRuntime

/// Keys of Facebook in the configuration.
struct FacebookSettings: ProviderSettings {
  static let section = "facebook"
  static let id = "facebook.com"

  /// Without a slash at its end.
  let graphURL: String
  let graphVersion: String
  /// Without a slash at its end.
  let pageURL: String
  let keysURL: String
  let issuers: Set<String>

  init(_ section: ProviderSection) {
    graphURL = Self.base(
      section.url("graphURL", default: "https://graph.facebook.com", "Address of Facebook's Graph API."))
    graphVersion = section.text(
      "graphVersion", default: "v23.0", isRight: Self.isVersion, form: "a version such as v23.0",
      "Version of the Graph API, and of the page.")
    pageURL = Self.base(
      section.url(
        "pageURL", default: "https://www.facebook.com", "Address of the page that browsers open, without its path."))
    keysURL = section.url(
      "keysURL", default: "https://limited.facebook.com/.well-known/oauth/openid/jwks/",
      "Address of the keys that verify the ID tokens of Limited Login.")
    issuers = section.issuers(default: ["https://www.facebook.com", "https://limited.facebook.com"])
  }

  func make(_ context: ProviderContext) -> any IdentityProvider {
    let graph = "\(graphURL)/\(graphVersion)"
    return SignInWithFacebook(
      tokens: ProviderTokens(of: Self.id, issuers: issuers, keysURL: keysURL, context),
      profiles: ProfileFetch(provider: Self.id, context: context), graph: graph,
      page: ProviderPage(
        of: Self.id, authorizeURL: "\(pageURL)/\(graphVersion)/dialog/oauth",
        tokenURL: "\(graph)/oauth/access_token", context), secrets: context.secrets)
  }

  private static func base(_ url: String) -> String {
    var url = url
    while url.hasSuffix("/") { url.removeLast() }
    return url
  }

  private static func isVersion(_ text: String) -> Bool {
    let parts = text.dropFirst().split(separator: ".", omittingEmptySubsequences: false)
    return text.hasPrefix("v") && parts.count == 2 && parts.allSatisfy { UInt8($0) != nil }
  }
}
