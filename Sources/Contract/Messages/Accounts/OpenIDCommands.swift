/// OpenID Connect provider of a project, as an administrator writes it. In a change, absent fields stay.
public struct OpenIDFields: SealedText, Hashable {
  public var displayName: String?
  public var enabled: Bool?
  /// As ID tokens have it: `https://id.example.com`.
  public var issuer: String?
  /// Clients of the project at the provider, 1 to 10. A page uses the client of the app's platform, else the first.
  public var clients: [OpenIDClient]?
  /// Whether pages use the code flow. Otherwise the implicit flow.
  public var usesCodeFlow: Bool?
  /// Scopes beside `openid`.
  public var scopes: [String]?
  /// Parameters of the provider's page.
  public var parameters: [String: String]?

  public init() {}
}

/// Client of a project at an OpenID Connect provider.
public struct OpenIDClient: Codable, Sendable, Hashable {
  public var clientID: String
  /// `ios`, `android`, `web`. Absent, of any platform.
  public var platform: String?
  /// Of the code flow. Absent in a change, the client keeps the one it has.
  public var secret: String?

  public init(clientID: String) {
    self.clientID = clientID
  }
}

/// Command `account.setProvider`, for administrators: makes, changes or removes an OpenID Connect provider.
public struct SetProvider: AdministratorCommand {
  public typealias Reply = ProvidersFound
  public static let type = MessageType("account.setProvider")

  public enum Act: String, Codable, Sendable, CaseIterable {
    case create, change, remove
  }

  public var project: String
  public var bearer: SecretField?
  /// `oidc.example`.
  public var providerID: String
  public var act: Act
  /// ``OpenIDFields`` as JSON. Absent for a removal.
  public var fields: SecretField?

  public init(project: String, providerID: String, act: Act) {
    self.project = project
    self.providerID = providerID
    self.act = act
  }
}

/// Command `account.findProviders`, for administrators: the OpenID Connect providers of a project, by their IDs.
public struct FindProviders: AdministratorCommand {
  public typealias Reply = ProvidersFound
  public static let type = MessageType("account.findProviders")

  public var project: String
  public var bearer: SecretField?
  /// That one alone.
  public var providerID: String?
  /// 1 to 100.
  public var limit: Int?
  /// ID of the provider behind which the page begins.
  public var behind: String?

  public init(project: String) {
    self.project = project
  }
}

/// Reply to `account.setProvider` and `account.findProviders`. After a removal it has none.
public struct ProvidersFound: MessageBody, Hashable {
  public static let type = MessageType("account.providersFound")

  public var providers: [ProviderView]
  /// Whether more follow behind the last one.
  public var hasMore: Bool?

  public init(providers: [ProviderView]) {
    self.providers = providers
  }
}

/// OpenID Connect provider of a project, without its secrets.
public struct ProviderView: Codable, Sendable, Hashable {
  public struct Client: Codable, Sendable, Hashable {
    public var clientID: String
    public var platform: String?
    public var hasSecret: Bool

    public init(clientID: String, hasSecret: Bool) {
      self.clientID = clientID
      self.hasSecret = hasSecret
    }
  }

  /// `oidc.example`.
  public var providerID: String
  public var displayName: String?
  public var enabled: Bool
  public var issuer: String
  public var clients: [Client]
  public var usesCodeFlow: Bool
  public var scopes: [String]?
  public var parameters: [String: String]?
  /// Whether it stands in the project's file. Otherwise an administrator has set it.
  public var isFromFile: Bool

  public init(
    providerID: String, issuer: String, clients: [Client], enabled: Bool, usesCodeFlow: Bool, isFromFile: Bool
  ) {
    self.providerID = providerID
    self.issuer = issuer
    self.clients = clients
    self.enabled = enabled
    self.usesCodeFlow = usesCodeFlow
    self.isFromFile = isFromFile
  }
}
