/// Projects whose apps sign users in, by their ID.
public struct Projects: Sendable, Hashable {
  /// All projects, by ID.
  public let all: [String: Project]
  private let idsByKey: [String: String]

  /// - Parameter projects: their IDs and API keys differ, as the reader of the file has checked.
  public init(_ projects: [Project]) {
    all = Dictionary(projects.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    let keys = all.values.flatMap { project in project.apiKeys.map { ($0, project.id) } }
    idsByKey = Dictionary(keys, uniquingKeysWith: min)
  }

  /// IDs of the apps of each project.
  public var appsByProject: [String: [String]] { all.mapValues { $0.apps.map(\.id).sorted() } }

  /// The project of an ID.
  public subscript(id: String) -> Project? { all[id] }

  /// The project of an API key.
  public func project(ofKey key: String) -> Project? { idsByKey[key].flatMap { all[$0] } }
}

/// A project: apps that share accounts.
public struct Project: Sendable, Hashable {
  /// A way to sign in that a project switches on or off.
  public struct Method: RawRepresentable, Sendable, Hashable {
    public let rawValue: String

    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// A phone number.
    public static let phone = Method(rawValue: "phone")
    /// No name at all.
    public static let anonymous = Method(rawValue: "anonymous")
    /// An address with a password.
    public static let password = Method(rawValue: "password")
    /// A link that is mailed.
    public static let emailLink = Method(rawValue: "emailLink")
    /// A token that a service account signs.
    public static let custom = Method(rawValue: "custom")

    /// A phone number as the second factor.
    public static let phoneSecondFactor = Method(rawValue: "phoneSecondFactor")
    /// A code of an authenticator as the second factor.
    public static let totp = Method(rawValue: "totp")

    /// The ways to sign in that are not providers.
    public static let own: [Method] = [.phone, .anonymous, .password, .emailLink, .custom] + secondFactors
    /// The second factors.
    public static let secondFactors: [Method] = [.phoneSecondFactor, .totp]

    /// An identity provider, by its ID: `apple.com`.
    public static func provider(_ id: String) -> Method { Method(rawValue: id) }
  }

  /// ID in tokens: 6 to 30 lower case letters, digits, hyphens.
  public let id: String
  /// Number, as `projects` and `/v1/token` show it.
  public let number: UInt64
  /// Keys that apps send with each call, and which are no secret. Any of them will do.
  public var apiKeys: Set<String>
  /// Host of the pages that SDKs open: `example.firebaseapp.com`.
  public var authDomain: String?
  /// Further hosts whose pages may use the project.
  public var authorizedDomains: [String]
  /// Ways to sign in that are switched on.
  public var methods: Set<Method>
  /// Facts that identity providers know the project by, by the ID of the provider.
  public var providers: [String: ProviderFacts] = [:]
  /// Whether unsigned credentials of providers are taken, as test suites for the emulator write them. In development
  /// mode only.
  public var emulatorTokens = false
  /// Acts of a signed-in user that need a sign-in of the last five minutes. The deletion of an account always does.
  public var recentLogin = RecentLogin()
  /// Consent of users to what happens to their data.
  public var consent = ConsentRules()
  /// Rules of new passwords.
  public var passwords = PasswordRules()
  /// Whether answers keep secret that an account has an address. Administrators can change it.
  public var protectsAddresses = true
  /// Whether several accounts may have an address, those of providers. Administrators can change it.
  public var allowsDuplicateEmails = false
  /// Fate of an account that a notification of Apple leaves without a way in.
  public var withoutWayIn = WithoutWayIn.keep
  /// Mail that accounts need.
  public var mail = Mail()
  /// The apps whose users are the project's.
  public var apps: [ProjectApp]
  /// reCAPTCHA, as SDKs are told of it. `nil` where there is none.
  public var recaptcha: Recaptcha?

  /// A project with nothing switched on.
  public init(id: String, number: UInt64) {
    self.id = id
    self.number = number
    apiKeys = []
    authorizedDomains = []
    methods = []
    apps = []
  }

  /// Fate of an account that a notification of Apple leaves without a way in.
  public enum WithoutWayIn: String, Sendable, CaseIterable {
    /// It stays, for an administrator to give it one.
    case keep
    /// It is deleted, if its user alone made it.
    case delete
  }

  /// Acts that need a sign-in of the last five minutes. An anonymous account has none that could be repeated.
  public struct RecentLogin: Sendable, Hashable {
    /// Change and removal of a phone number.
    public var phone = true
    /// Linking of a way to sign in, a first phone number included.
    public var linking = false

    /// The defaults: ``phone`` alone.
    public init() {}
  }

  /// Consent of users, which apps record.
  public struct ConsentRules: Sendable, Hashable {
    /// Effect of a consent that is missing.
    public enum Demand: String, Sendable, CaseIterable {
      /// None: consents are recorded as they come.
      case record
      /// Refusal of what needs it.
      case require
    }

    /// Whether Sign in with Apple and other data come together on an account by consent alone.
    public var linking = Demand.record

    /// The default: nothing is demanded.
    public init() {}
  }

  /// Rules of new passwords. One that follows them no longer goes on to sign in.
  public struct PasswordRules: Sendable, Hashable {
    /// Minimum length in characters: 6 to 30.
    public var minLength = 6
    /// Whether a lower case letter is needed.
    public var needsLowercase = false
    /// Whether an upper case letter is needed.
    public var needsUppercase = false
    /// Whether a digit is needed.
    public var needsDigit = false
    /// Whether a character is needed that is neither a letter nor a digit.
    public var needsSymbol = false

    /// Maximum length in characters.
    public static let maxLength = 4096

    /// The defaults: six characters of any kind.
    public init() {}
  }

  /// Mail that accounts need: links.
  public struct Mail: Sendable, Hashable {
    /// Address of one of the mail-worker's senders. Its first one if `nil`.
    public var from: String?
    /// Name that mails say. The project's ID if `nil`.
    public var appName: String?
    /// Values of the templates' own variables.
    public var variables: [String: String] = [:]
    /// Address of the page that links open. That of `authDomain` if `nil`.
    public var actionURL: String?

    /// No preferences.
    public init() {}
  }

  /// Facts that an identity provider knows a project by. They are public.
  public struct ProviderFacts: Sendable, Hashable {
    /// Clients whose ID tokens are taken.
    public var clientIDs: [String]
    /// The app at the provider whose access tokens are taken.
    public var appID: String?
    /// Apple's ID of the developer team, and that of its key for Sign in with Apple. `nil` without a page of Apple's.
    public var teamKey: TeamKey?
    /// Facts of an OpenID Connect provider. `nil` for the others.
    public var openID: OpenID?

    public init(clientIDs: [String] = [], appID: String? = nil) {
      self.clientIDs = clientIDs
      self.appID = appID
    }
  }

  /// Key of a developer team for Sign in with Apple, as Apple names it.
  public struct TeamKey: Sendable, Hashable {
    /// 10 letters and digits.
    public var teamID: String
    /// 10 letters and digits.
    public var keyID: String

    public init(teamID: String, keyID: String) {
      self.teamID = teamID
      self.keyID = keyID
    }
  }

  /// OpenID Connect provider that stands in the project's file: `oidc.example`.
  public struct OpenID: Sendable, Hashable {
    /// Name for people.
    public var displayName: String?
    /// As its ID tokens have it.
    public var issuer: String
    /// Platforms that clients are for, by client ID. Others are for any.
    public var platforms: [String: ProjectApp.Platform] = [:]
    /// Whether its page is used with the code flow. Otherwise with the implicit flow.
    public var usesCodeFlow = true
    /// Scopes beside `openid`.
    public var scopes: [String] = []
    /// Parameters of its page.
    public var parameters: [String: String] = [:]
    /// Whether an address that it calls verified belongs to the user: the owner's account is joined.
    public var trustsEmail = false

    public init(issuer: String) {
      self.issuer = issuer
    }
  }

  /// Clients whose ID tokens of a provider are taken. Apple issues those of apps to their bundle IDs.
  public func clientIDs(of provider: String) -> [String] {
    let named = providers[provider]?.clientIDs ?? []
    guard provider == ProviderFacts.apple else { return named }
    return apps.filter { $0.platform == .ios }.map(\.id) + named
  }

  /// The app of an ID at the coordinator: a bundle ID, a package name, or the name of a web app.
  public func app(id: String) -> ProjectApp? { apps.first { $0.id == id } }

  /// The app of an ID that SDKs send as `X-Firebase-GMPID`.
  public func app(appID: String) -> ProjectApp? { apps.first { $0.appID == appID } }

  /// The web app that a page's origin belongs to. An origin as the app lists it goes before one with any port.
  public func app(origin: String) -> ProjectApp? {
    apps.first { $0.origins.contains(origin) } ?? apps.first { $0.accepts(origin: origin) }
  }

  /// reCAPTCHA as `recaptchaParams` and `recaptchaConfig` show it.
  public struct Recaptcha: Sendable, Hashable {
    /// Effect of a token on the sending of a code.
    public enum Enforcement: String, Sendable, CaseIterable {
      case off = "OFF"
      case audit = "AUDIT"
      case enforce = "ENFORCE"
    }

    /// Key of version 2 or 3.
    public var siteKey: String?
    /// `projects/p/keys/k`.
    public var enterpriseKey: String?
    /// Enforcement for phone numbers.
    public var phone: Enforcement

    public init(siteKey: String? = nil, enterpriseKey: String? = nil, phone: Enforcement = .off) {
      self.siteKey = siteKey
      self.enterpriseKey = enterpriseKey
      self.phone = phone
    }
  }
}

/// A registered app of a project.
public struct ProjectApp: Sendable, Hashable {
  /// Platform that the app runs on.
  public enum Platform: String, Sendable, CaseIterable {
    case ios, web, android
  }

  /// Its ID at the coordinator: the bundle ID, or a name of a web app.
  public let id: String
  /// Platform that it runs on.
  public let platform: Platform
  /// `1:100000000001:ios:0123456789abcdef`, which SDKs send as `X-Firebase-GMPID`.
  public var appID: String
  /// `https://example.com`, of a web app. On the own machine with `*` for any port.
  public var origins: [String]

  public init(id: String, platform: Platform, appID: String, origins: [String] = []) {
    self.id = id
    self.platform = platform
    self.appID = appID
    self.origins = origins
  }

  /// URL scheme that Apple apps register to be called back: `app-1-100000000001-ios-0123456789abcdef`.
  public var encodedAppID: String { "app-" + String(appID.map { $0 == ":" ? "-" : $0 }) }

  /// Whether pages of an origin belong to the app.
  public func accepts(origin: String) -> Bool {
    origins.contains { pattern in
      guard pattern.hasSuffix(":*") else { return pattern == origin }
      let host = pattern.dropLast(2)
      guard origin.hasPrefix(host) else { return false }
      let port = origin.dropFirst(host.count)
      return port.isEmpty || port.first == ":" && ProjectForms.isPort(port.dropFirst())
    }
  }
}
