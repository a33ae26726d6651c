import CountersignTelemetry
import ServiceRuntime

enum GoogleCredential: Sendable {
  case apiKey(Secret)
  case serviceAccount(ServiceAccount, tokenURL: String)
  case invalid

  init(_ section: ConfigurationSection) {
    let apiKey = section.secretFile("apiKeyFile", "An API key that may create assessments.")
    let file = section.secretFile(
      "serviceAccountFile",
      "The key of a service account that may create assessments (JSON), instead of an API key.")
    let tokenURL = section.optionalURL(
      "tokenURL", crossing: "assertions and access tokens",
      "Address of access tokens for the service account; the token_uri of its file unless given.")
    section.check("tokenURL", tokenURL == nil || apiKey == nil || file != nil, "has no effect with an API key")
    switch (apiKey, file) {
    case (let key?, nil): self = .apiKey(key)
    case (nil, let file?): self = Self.account(file, tokenURL: tokenURL, section)
    case (_?, _?):
      section.problem("serviceAccountFile", "is given with apiKeyFile: give one of them")
      self = .invalid
    case (nil, nil):
      // A named file that cannot be read was reported already.
      if !section.isGiven("apiKeyFile"), !section.isGiven("serviceAccountFile") {
        section.problem("apiKeyFile", "is missing, and so is serviceAccountFile: give one of them")
      }
      self = .invalid
    }
  }

  private static func account(
    _ file: Secret, tokenURL: String?, _ section: ConfigurationSection
  ) -> GoogleCredential {
    do throws(ServiceAccountProblem) {
      let account = try ServiceAccount(file: file)
      section.checkPlaintext(
        "serviceAccountFile", tokenURL == nil && URLParts(account.tokenURI)?.isUnprotected == true,
        "has a token_uri that is http:// to another machine", crossing: "assertions and access tokens",
        remedy: "set tokenURL to its https:// address")
      return .serviceAccount(account, tokenURL: tokenURL ?? account.tokenURI)
    } catch {
      section.problem("serviceAccountFile", error.description)
      return .invalid
    }
  }
}
