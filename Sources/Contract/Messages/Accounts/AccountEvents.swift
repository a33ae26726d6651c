public import CountersignTelemetry

/// Event `account.created`.
public struct AccountCreated: Event, Hashable {
  public static let type = MessageType("account.created")

  public var project: String
  public var localID: String
  public var createdAt: UnixTime
  /// `phone`, `anonymous`, `password`, `custom`, `administrator`, or the ID of an identity provider.
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
  /// `displayName`, `photoURL`, `phoneNumber`, `email`, `password`, `disabled`, `customAttributes`.
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

/// Event `account.signIn`: a session began.
public struct AccountSignIn: Event, Hashable {
  public static let type = MessageType("account.signIn")

  public var project: String
  public var localID: String
  /// First factor: `phone`, `anonymous`, `password`, `custom`, or the ID of an identity provider.
  public var provider: String
  /// Second factor. Absent without one.
  public var secondFactor: SecondFactorKind?
  public var signedInAt: UnixTime
  public var isNewUser: Bool

  public init(project: String, localID: String, provider: String, signedInAt: UnixTime, isNewUser: Bool) {
    self.project = project
    self.localID = localID
    self.provider = provider
    self.signedInAt = signedInAt
    self.isNewUser = isNewUser
  }
}

/// Event `account.linked`: an account has a further way to sign in.
public struct AccountLinked: Event, Hashable {
  public static let type = MessageType("account.linked")

  public var project: String
  public var localID: String
  /// `phone`, or the ID of an identity provider.
  public var provider: String
  public var linkedAt: UnixTime

  public init(project: String, localID: String, provider: String, linkedAt: UnixTime) {
    self.project = project
    self.localID = localID
    self.provider = provider
    self.linkedAt = linkedAt
  }
}

/// Event `account.unlinked`: a way to sign in no longer reaches the account.
public struct AccountUnlinked: Event, Hashable {
  public static let type = MessageType("account.unlinked")

  public var project: String
  public var localID: String
  /// `phone`, or the ID of an identity provider.
  public var provider: String
  public var unlinkedAt: UnixTime

  public init(project: String, localID: String, provider: String, unlinkedAt: UnixTime) {
    self.project = project
    self.localID = localID
    self.provider = provider
    self.unlinkedAt = unlinkedAt
  }
}

/// Event `account.erased`: the erasure after a deletion has ended.
public struct AccountErased: Event, Hashable {
  public static let type = MessageType("account.erased")

  public var project: String
  public var localID: String
  public var erasedAt: UnixTime
  /// Ending at Apple. Absent for an account that Apple never knew.
  public var apple: Apple?
  /// Ending at the coordinator, of an account that had a number.
  public var coordinator: Part?
  /// Ending at the mail workers, of an account that had an address.
  public var mail: Part?

  public init(project: String, localID: String, erasedAt: UnixTime) {
    self.project = project
    self.localID = localID
    self.erasedAt = erasedAt
  }

  /// Whether Apple knows of the deletion. More words may be added.
  public struct Apple: OpenWord {
    public let rawValue: String

    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// A token of the account was revoked.
    public static let revoked = Apple(rawValue: "revoked")
    /// Apple refused, or was not reached in time.
    public static let failed = Apple(rawValue: "failed")
    /// There was neither a token nor a code.
    public static let notTold = Apple(rawValue: "notTold")

    public static let known: [Apple] = [.revoked, .failed, .notTold]
  }

  /// Ending of the erasure at another process. More words may be added.
  public struct Part: OpenWord {
    public let rawValue: String

    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// It holds nothing about the user any longer.
    public static let forgotten = Part(rawValue: "forgotten")
    /// It was told to forget.
    public static let told = Part(rawValue: "told")
    /// It refused, until retention ends: an operator has to look.
    public static let kept = Part(rawValue: "kept")

    public static let known: [Part] = [.forgotten, .told, .kept]
  }
}

/// Reply to `keys.get` and event `keys.published`: the public keys of ID tokens and session cookies, of all projects.
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
  /// The public keys of session cookies.
  public var cookieKeys: [Key]?
  /// Seconds for which they may be cached: no key signs earlier than so long after it was first published.
  public var maxAge: Int
  public var publishedAt: UnixTime

  public init(keys: [Key], maxAge: Int, publishedAt: UnixTime) {
    self.keys = keys
    self.maxAge = maxAge
    self.publishedAt = publishedAt
  }
}
