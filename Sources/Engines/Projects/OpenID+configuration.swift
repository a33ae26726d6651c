import ServiceRuntime

extension Project.OpenID {
  enum Flow: String, CaseIterable {
    case code, idToken
  }

  /// Reads the keys of an OpenID Connect provider.
  init(_ section: ConfigurationSection, clientIDs: [String]) {
    self.init(
      issuer: section.string(
        "issuer", default: "", "The issuer, exactly as ID tokens have it: https://id.example.com."))
    section.check("issuer", OpenIDForms.isIssuer(issuer), "must be \(OpenIDForms.issuerForm)")
    displayName = section.optionalString("displayName", "The name for people.")
    section.check(
      "displayName", displayName.map(OpenIDForms.isDisplayName) ?? true,
      "must be 1 to 64 characters without control characters")
    section.check(
      "clientIDs", (1...OpenIDForms.maxClients).contains(clientIDs.count),
      "must be 1 to \(OpenIDForms.maxClients) clients")
    section.check("clientIDs", Set(clientIDs).count == clientIDs.count, "has a client twice")
    platforms = Self.platforms(section, clientIDs)
    usesCodeFlow =
      section.word(
        "flow", default: Flow.code, "The flow of its page: code, or idToken, the implicit flow.") == .code
    scopes = Self.scopes(section)
    parameters = Self.parameters(section)
    trustsEmail = section.bool(
      "trustsEmail", default: false,
      "Whether addresses that it calls verified are believed, so that they open the accounts that have them.")
  }

  private static func platforms(
    _ section: ConfigurationSection, _ clientIDs: [String]
  ) -> [String: ProjectApp.Platform] {
    let texts = section.stringMap("platforms", "The platform of a client, by its ID: ios, web or android.")
    var platforms: [String: ProjectApp.Platform] = [:]
    for (client, text) in texts {
      platforms[client] = ProjectApp.Platform(rawValue: text)
      section.check("platforms", platforms[client] != nil, "must be ios, web or android for each client")
      section.check("platforms", clientIDs.contains(client), "has a client that 'clientIDs' does not name")
    }
    return platforms
  }

  private static func scopes(_ section: ConfigurationSection) -> [String] {
    let scopes = section.strings("scopes", "Scopes that are asked for beside openid: email, profile.")
    section.check(
      "scopes", scopes.count <= OpenIDForms.maxScopes && scopes.allSatisfy(OpenIDForms.isScope),
      "must be up to \(OpenIDForms.maxScopes) scopes of visible ASCII")
    return scopes
  }

  private static func parameters(_ section: ConfigurationSection) -> [String: String] {
    let parameters = section.stringMap("parameters", "Parameters of its page beside those of the flow: prompt.")
    for name in parameters.keys.sorted() where OpenIDForms.isReserved(name) {
      section.problem("parameters", "must not have \(name), which belongs to the flow")
    }
    section.check(
      "parameters",
      parameters.count <= OpenIDForms.maxParameters
        && parameters.allSatisfy { OpenIDForms.isParameterName($0.key) && OpenIDForms.isParameterValue($0.value) },
      "must be up to \(OpenIDForms.maxParameters) names of letters, digits, '.', - and _, with values up to 500 bytes")
    return parameters
  }
}
