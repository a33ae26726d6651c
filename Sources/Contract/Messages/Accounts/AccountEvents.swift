public import CountersignTelemetry

/// Event `account.created`.
public struct AccountCreated: Event, Hashable {
  public static let type = MessageType("account.created")

  public var project: String
  public var localID: String
  public var createdAt: UnixTime
  /// `phone`, `anonymous`.
  public var provider: String

  public init(project: String, localID: String, createdAt: UnixTime, provider: String) {
    self.project = project
    self.localID = localID
    self.createdAt = createdAt
    self.provider = provider
  }
}

/// Event `account.updated`: names what has changed, not its values.
public struct AccountUpdated: Event, Hashable {
  public static let type = MessageType("account.updated")

  public var project: String
  public var localID: String
  public var updatedAt: UnixTime
  /// `displayName`, `photoURL`, `phoneNumber`.
  public var fields: [String]

  public init(project: String, localID: String, updatedAt: UnixTime, fields: [String]) {
    self.project = project
    self.localID = localID
    self.updatedAt = updatedAt
    self.fields = fields
  }
}

/// Reply to `account.delete` and event `account.deleted`.
public struct AccountDeleted: Event, Hashable {
  public static let type = MessageType("account.deleted")

  public var project: String
  public var localID: String
  public var deletedAt: UnixTime

  public init(project: String, localID: String, deletedAt: UnixTime) {
    self.project = project
    self.localID = localID
    self.deletedAt = deletedAt
  }
}

/// Reply to `keys.get` and event `keys.published`: the public keys of ID tokens, of all projects.
public struct KeysPublished: Event, Hashable {
  public static let type = MessageType("keys.published")

  /// A public key, RSA with 2,048 bits.
  public struct Key: Codable, Sendable, Hashable {
    /// `kid` of the tokens.
    public var id: String
    /// Modulus, base64url (RFC 7518, section 6.3.1.1).
    public var n: String
    /// Exponent, base64url.
    public var e: String
    /// Self-signed X.509 certificate in PEM.
    public var certificate: String

    public init(id: String, n: String, e: String, certificate: String) {
      self.id = id
      self.n = n
      self.e = e
      self.certificate = certificate
    }
  }

  public var keys: [Key]
  /// Seconds for which they may be cached: no key signs earlier than so long after it was first published.
  public var maxAge: Int
  public var publishedAt: UnixTime

  public init(keys: [Key], maxAge: Int, publishedAt: UnixTime) {
    self.keys = keys
    self.maxAge = maxAge
    self.publishedAt = publishedAt
  }
}
