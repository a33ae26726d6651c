import ServiceRuntime

/// Keys of Facebook in the configuration.
struct FacebookSettings: ProviderSettings {
  static let section = "facebook"
  static let id = "facebook.com"

  /// Without a slash at its end.
  let graphURL: String
  let graphVersion: String
  let keysURL: String
  let issuers: Set<String>

  init(_ section: ProviderSection) {
    var graph = section.url("graphURL", default: "https://graph.facebook.com", "Address of Facebook's Graph API.")
    while graph.hasSuffix("/") { graph.removeLast() }
    graphURL = graph
    graphVersion = section.text(
      "graphVersion", default: "v23.0", isRight: Self.isVersion, form: "a version such as v23.0",
      "Version of the Graph API.")
    keysURL = section.url(
      "keysURL", default: "https://limited.facebook.com/.well-known/oauth/openid/jwks/",
      "Address of the keys that verify the ID tokens of Limited Login.")
    issuers = section.issuers(default: ["https://www.facebook.com", "https://limited.facebook.com"])
  }

  func make(_ context: ProviderContext) -> any IdentityProvider {
    SignInWithFacebook(
      tokens: ProviderTokens(of: Self.id, issuers: issuers, keysURL: keysURL, context),
      profiles: ProfileFetch(provider: Self.id, context: context), graph: "\(graphURL)/\(graphVersion)",
      secrets: context.secrets)
  }

  private static func isVersion(_ text: String) -> Bool {
    let parts = text.dropFirst().split(separator: ".", omittingEmptySubsequences: false)
    return text.hasPrefix("v") && parts.count == 2 && parts.allSatisfy { UInt8($0) != nil }
  }
}
