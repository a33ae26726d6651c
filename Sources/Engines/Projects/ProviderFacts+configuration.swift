import ServiceRuntime

extension Project.ProviderFacts {
  static let apple = "apple.com"
  static let google = "google.com"
  static let facebook = "facebook.com"

  static func all(_ section: ConfigurationSection) -> [String: Self] {
    let sections = section.namedSections(
      "providers", "Facts that identity providers know the project by, by the provider's ID, such as google.com.")
    section.check(
      "providers", sections.count <= ProjectForms.maxEntries, "has more than \(ProjectForms.maxEntries) providers")
    return Dictionary(
      uniqueKeysWithValues: sections.map { name, facts in
        section.check(
          "providers.\(name)", ProjectForms.isProviderID(name), "is not the ID of a provider, such as apple.com")
        return (name, Self(name, facts))
      })
  }

  private init(_ id: String, _ section: ConfigurationSection) {
    clientIDs = section.strings("clientIDs", "Clients whose ID tokens are taken: client IDs, Services IDs.")
    section.check(
      "clientIDs", clientIDs.count <= ProjectForms.maxEntries, "has more than \(ProjectForms.maxEntries) clients")
    for (index, id) in clientIDs.enumerated() {
      section.check("clientIDs.\(index)", ProjectForms.isClientID(id), "must be 1 to 255 visible characters of ASCII")
    }
    guard !id.hasPrefix(OpenIDForms.prefix) else {
      section.check("clientIDs", OpenIDForms.isID(id), "stands below an ID that is not \(OpenIDForms.idForm)")
      openID = Project.OpenID(section, clientIDs: clientIDs)
      return
    }
    appID = section.optionalString("appID", "The app at the provider whose access tokens are taken: Facebook's app ID.")
    section.check("appID", appID.map(ProjectForms.isClientID) ?? true, "must be 1 to 255 visible characters of ASCII")
    teamKey = Self.teamKey(section)
  }

  private static func teamKey(_ section: ConfigurationSection) -> Project.TeamKey? {
    let ids = [
      section.optionalString("teamID", "Apple's ID of the developer team, for Apple's page: 10 letters and digits."),
      section.optionalString("keyID", "Apple's ID of the team's key, for Apple's page: 10 letters and digits."),
    ]
    for (key, id) in zip(["teamID", "keyID"], ids) {
      let isRight = id?.isMatched(by: \.isLetterOrDigit, length: 10...10) ?? true
      section.check(key, isRight, "must be 10 letters and digits")
    }
    guard let teamID = ids[0], let keyID = ids[1] else {
      section.check("teamID", ids.allSatisfy { $0 == nil }, "and keyID come together: give both, or none")
      return nil
    }
    return Project.TeamKey(teamID: teamID, keyID: keyID)
  }
}

extension Project {
  /// Facts that a way to sign in that is on cannot do without.
  var missingFacts: [(place: String, text: String)] {
    var missing: [(place: String, text: String)] = []
    func check(_ id: String, _ isThere: Bool, _ key: String, _ remedy: String) {
      guard methods.contains(.provider(id)), !isThere else { return }
      missing.append(("providers.\(id).\(key)", "is missing, and 'methods' has \(id) on: \(remedy)"))
    }
    check(
      ProviderFacts.apple, !clientIDs(of: ProviderFacts.apple).isEmpty, "clientIDs",
      "add an app of platform ios, or the Services ID of the web")
    check(
      ProviderFacts.google, !clientIDs(of: ProviderFacts.google).isEmpty, "clientIDs",
      "give the client ID of each platform, from Google's console")
    check(
      ProviderFacts.facebook, providers[ProviderFacts.facebook]?.appID != nil, "appID",
      "give the app ID, from Facebook's dashboard")
    return missing
  }
}
