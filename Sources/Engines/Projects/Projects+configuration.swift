public import ServiceRuntime

/// Values that only one key or app of a project may have, with the place of the first that has them.
private struct TakenNames {
  private var places: [String: String] = [:]

  mutating func take(_ kind: String, _ value: String, at place: String) -> String? {
    let earlier = places[kind + " " + value]
    if earlier == nil { places[kind + " " + value] = place }
    return earlier
  }
}

extension Project: Configuration {
  /// Reads the file of a project whose ID does not matter.
  public init(_ section: ConfigurationSection) { self.init(id: "", section) }

  init(id: String, _ section: ConfigurationSection) {
    var taken = TakenNames()
    let number = Self.number(section)
    self.init(id: id, number: number)
    apiKeys = Self.keys(section, &taken)
    authDomain = Self.host(
      section, "authDomain", section.optionalString("authDomain", "The host of the pages, example.firebaseapp.com."))
    authorizedDomains = Self.domains(section)
    methods = Self.methods(section)
    emulatorTokens = section.bool(
      "emulatorTokens", default: false,
      "Whether unsigned credentials of providers are taken, in development mode only.")
    recentLogin = RecentLogin(section.section("recentLogin"))
    consent = ConsentRules(section.section("consent"))
    passwords = PasswordRules(section.section("passwords"))
    mail = Mail(section.section("mail"))
    protectsAddresses = section.bool(
      "protectsAddresses", default: protectsAddresses, "Whether answers tell nobody that an account has an address.")
    allowsDuplicateEmails = section.bool(
      "allowsDuplicateEmails", default: allowsDuplicateEmails,
      "Whether several accounts may have an address, those of providers.")
    withoutWayIn = section.word(
      "withoutWayIn", default: withoutWayIn,
      "What becomes of an account that a notification of Apple leaves without a way in: keep or delete.")
    recaptcha = section.optionalSection("recaptcha").map { Recaptcha($0) }
    apps = section.namedSections("apps", "The apps, by bundle ID, package name or, for web apps, a name.").map {
      ProjectApp(id: $0.name, $0.section, number: number, &taken)
    }
    section.check("apps", apps.count <= ProjectForms.maxEntries, "has more than \(ProjectForms.maxEntries) apps")
    providers = ProviderFacts.all(section)
    for problem in missingFacts { section.problem(problem.place, problem.text) }
  }

  var names: [UniqueName] {
    var names: [UniqueName] = [("number \(number)", "number", "each project has its own")]
    for key in apiKeys.sorted() { names.append(("key \(key)", "apiKeys", "a key names one project")) }
    for app in apps {
      names.append(("app \(app.id)", "apps.\(app.id)", "an app is in one project"))
      names.append(("appID \(app.appID)", "apps.\(app.id).appID", "each app has its own"))
    }
    return names
  }

  private static func number(_ section: ConfigurationSection) -> UInt64 {
    let help = "The number of the project, as clients show it, such as 100000000001."
    guard let number = section.optionalInteger("number", in: ProjectForms.numbers, help) else {
      section.problem("number", "is required: \(help)")
      return 0
    }
    return UInt64(number)
  }

  private static func keys(_ section: ConfigurationSection, _ taken: inout TakenNames) -> Set<String> {
    let keys = section.strings("apiKeys", "The API keys of the apps, which are not secret: 1 to 10.")
    section.check(
      "apiKeys", (1...ProjectForms.maxKeys).contains(keys.count),
      "must be 1 to \(ProjectForms.maxKeys) API keys; 'countersign project add' makes one")
    for (index, key) in keys.enumerated() {
      let place = "apiKeys.\(index)"
      section.check(place, ProjectForms.isAPIKey(key), "must be 8 to 128 letters, digits, - and _")
      if let other = taken.take("key", key, at: place) {
        section.problem(place, "is the same as \(other)")
      }
    }
    return Set(keys)
  }

  private static func domains(_ section: ConfigurationSection) -> [String] {
    let domains = section.strings(
      "authorizedDomains", "Hosts whose pages may use the project, beside authDomain: example.com.")
    section.check(
      "authorizedDomains", domains.count <= ProjectForms.maxEntries,
      "has more than \(ProjectForms.maxEntries) domains")
    for (index, domain) in domains.enumerated() {
      _ = host(section, "authorizedDomains.\(index)", domain)
    }
    return domains
  }

  private static func host(_ section: ConfigurationSection, _ key: String, _ host: String?) -> String? {
    guard let host else { return nil }
    section.check(
      key, ProjectForms.isHost(host), "must be a host name in lower case, without scheme, port and path: example.com")
    return host
  }

  private static func methods(_ section: ConfigurationSection) -> Set<Method> {
    let flags = section.boolMap(
      "methods",
      "Ways to sign in that are on: phone, anonymous, password, emailLink, custom, providers by their ID; and the second "
        + "factors phoneSecondFactor and totp.")
    for name in flags.keys.sorted() where !ProjectForms.isMethod(name) {
      section.problem("methods.\(name)", "is no way to sign in: it must be \(ProjectForms.methodForm)")
    }
    return Set(flags.filter(\.value).keys.map(Method.init))
  }
}

extension Project.RecentLogin {
  fileprivate init(_ section: ConfigurationSection) {
    self.init()
    phone = section.bool(
      "phone", default: phone, "Whether a change or the removal of a number needs a sign-in of the last five minutes.")
    linking = section.bool(
      "linking", default: linking, "Whether linking a way to sign in needs a sign-in of the last five minutes.")
  }
}

extension Project.ConsentRules {
  fileprivate init(_ section: ConfigurationSection) {
    self.init()
    linking = section.word(
      "linking", default: linking,
      "Whether consents to linking Sign in with Apple are just recorded, or what lacks one is refused.")
  }
}

extension Project.PasswordRules {
  fileprivate init(_ section: ConfigurationSection) {
    self.init()
    minLength = section.integer("minLength", default: minLength, in: 6...30, "Characters that a new password has.")
    needsLowercase = section.bool("lowercase", default: false, "Whether a new password needs a lower case letter.")
    needsUppercase = section.bool("uppercase", default: false, "Whether a new password needs an upper case letter.")
    needsDigit = section.bool("digit", default: false, "Whether a new password needs a digit.")
    needsSymbol = section.bool(
      "symbol", default: false, "Whether a new password needs a character that is neither a letter nor a digit.")
  }
}

extension Project.Mail {
  fileprivate init(_ section: ConfigurationSection) {
    self.init()
    from = section.optionalString("from", "The address that mails of accounts come from, a sender of the mail-worker.")
    appName = section.optionalString("appName", "The name that mails say; the project's ID without it.")
    variables = section.customVariables(
      "variables", "Values of the own variables of the mail-worker's templates, by name.")
    actionURL = section.optionalString(
      "actionURL", "The page that links open: https://example.com/__/auth/action. That of authDomain without it.")
    section.check("from", from.map(ProjectForms.isMailAddress) ?? true, "must be an address: name@example.com")
    section.check(
      "appName", appName.map { $0.isMatched(by: { $0.value >= 0x20 && $0.value != 0x7F }, length: 1...64) } ?? true,
      "must be 1 to 64 characters without control characters")
    section.check(
      "actionURL", actionURL.map(ProjectForms.isPageAddress) ?? true,
      "must be an address of https:// without query, or of http:// on the own machine")
  }
}

extension Project.Recaptcha {
  fileprivate init(_ section: ConfigurationSection) {
    self.init(
      siteKey: section.optionalString("siteKey", "The site key of version 2 or 3, which recaptchaParams shows."),
      enterpriseKey: section.optionalString(
        "enterpriseKey", "The key of reCAPTCHA Enterprise, projects/PROJECT/keys/KEY, which recaptchaConfig shows."),
      phone: section.word("phone", default: .off, "Whether SDKs solve it before they have a code sent."))
    section.check(
      "siteKey", siteKey.map(ProjectForms.isSiteKey) ?? true, "must be up to 128 letters, digits, - and _")
    section.check(
      "enterpriseKey", enterpriseKey.map(ProjectForms.isEnterpriseKey) ?? true, "must be projects/PROJECT/keys/KEY")
    section.check("phone", phone == .off || enterpriseKey != nil, "needs enterpriseKey, which SDKs solve it with")
  }
}

extension ProjectApp {
  fileprivate init(id: String, _ section: ConfigurationSection, number: UInt64, _ taken: inout TakenNames) {
    let platform = section.word("platform", default: Platform.web, "Where the app runs.")
    self.init(
      id: id, platform: platform,
      appID: section.string("appID", "The ID of the app: 1:NUMBER:PLATFORM: and hexadecimal digits."),
      origins: section.strings("origins", "The origins of a web app's pages: https://example.com."))
    section.check("platform", section.isGiven("platform"), "is required: ios, web or android")
    section.check(
      "platform", ProjectForms.isAppName(id), "stands below an ID that is not 1 to 128 letters, digits, '.', - and _")
    section.accept("codes")
    if !appID.isEmpty, let other = taken.take("appID", appID, at: section.path) {
      section.problem("appID", "is that of \(other) as well; each app has its own")
    }
    // Absent, it is reported already.
    section.check(
      "appID", appID.isEmpty || ProjectForms.isAppID(appID, number: number, platform: platform),
      "must be 1:\(number):\(platform.rawValue): and 8 to 64 of 0-9 and a-f; 'countersign project app' makes one")
    checkOrigins(section, &taken)
  }

  private func checkOrigins(_ section: ConfigurationSection, _ taken: inout TakenNames) {
    section.check(
      "origins", origins.isEmpty || platform == .web, "belongs to web apps only; this one's platform is another")
    section.check(
      "origins", origins.count <= ProjectForms.maxEntries, "has more than \(ProjectForms.maxEntries) origins")
    for (index, origin) in origins.enumerated() {
      let place = "origins.\(index)"
      section.check(
        place, ProjectForms.isOrigin(origin),
        "must be scheme://host or scheme://host:port in lower case, without path and without the scheme's own port"
          + " (https://example.com); * as the port is for localhost only")
      if let other = taken.take("origin", origin, at: section.path) {
        section.problem(place, "is that of \(other) as well; a page belongs to one app")
      }
    }
  }
}
