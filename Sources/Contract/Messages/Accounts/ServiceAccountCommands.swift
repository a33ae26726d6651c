public import CountersignTelemetry

/// Command `account.grantAccess`: an access token for the assertion of a service account (RFC 7523, section 2.1).
public struct GrantAccess: SecretReplyCommand {
  public typealias Reply = AccessGranted
  public static let type = MessageType("account.grantAccess")

  /// JWT that a key of the service account has signed.
  public var assertion: SecretField
  /// Public key for the secrets of the reply.
  public var replyKey: String

  public init(assertion: SecretField, replyKey: String) {
    self.assertion = assertion
    self.replyKey = replyKey
  }
}

/// Reply to `account.grantAccess`.
public struct AccessGranted: MessageBody, Hashable {
  public static let type = MessageType("account.accessGranted")

  public var accessToken: SecretField
  /// Seconds of its validity.
  public var expiresIn: Int

  public init(accessToken: SecretField, expiresIn: Int) {
    self.accessToken = accessToken
    self.expiresIn = expiresIn
  }
}

/// Command `account.setServiceAccount`, for operators: makes, changes or deletes a service account.
public struct SetServiceAccount: Command {
  public typealias Reply = ServiceAccountsListed
  public static let type = MessageType("account.setServiceAccount")

  /// Effect of the command.
  public enum Act: String, ContractWord {
    case create, addKey, removeKey, setRoles, disable, enable, delete
  }

  public var project: String
  public var act: Act
  /// Name before the `@`: 6 to 30 lower case letters, digits, hyphens.
  public var name: String
  /// Roles, for `create` and `setRoles`.
  public var roles: [AdministratorRole]?
  /// ID of the key, for `create`, `addKey` and `removeKey`.
  public var keyID: String?
  /// Public key in PEM: RSA with 2,048 to 4,096 bits, for `create` and `addKey`.
  public var publicKey: String?

  public init(project: String, act: Act, name: String) {
    self.project = project
    self.act = act
    self.name = name
  }
}

/// Right of a service account. More words may be added.
public struct AdministratorRole: OpenWord {
  public let rawValue: String

  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Finds and lists users.
  public static let readUsers = AdministratorRole(rawValue: "users.read")
  /// Creates, changes, imports and deletes users, and makes links.
  public static let writeUsers = AdministratorRole(rawValue: "users.write")
  /// Reads hashes of passwords.
  public static let exportUsers = AdministratorRole(rawValue: "users.export")
  /// Signs custom tokens, and has session cookies made.
  public static let tokens = AdministratorRole(rawValue: "tokens")
  /// Changes settings of the project.
  public static let config = AdministratorRole(rawValue: "config")
  /// Starts and checks verifications.
  public static let verifications = AdministratorRole(rawValue: "verifications")

  public static let known: [AdministratorRole] = [
    .readUsers, .writeUsers, .exportUsers, .tokens, .config, .verifications,
  ]
}

/// Command `account.listServiceAccounts`, for operators: the service accounts of a project.
public struct ListServiceAccounts: Command {
  public typealias Reply = ServiceAccountsListed
  public static let type = MessageType("account.listServiceAccounts")

  public var project: String

  public init(project: String) {
    self.project = project
  }
}

/// Reply to commands about service accounts.
public struct ServiceAccountsListed: MessageBody, Hashable {
  public static let type = MessageType("account.serviceAccountsListed")

  public struct Entry: Codable, Sendable, Hashable {
    /// `name@project.iam.gserviceaccount.com`, the form that libraries know.
    public var email: String
    public var roles: [AdministratorRole]
    public var keyIDs: [String]
    public var disabled: Bool
    public var createdAt: UnixTime

    public init(email: String, roles: [AdministratorRole], keyIDs: [String], disabled: Bool, createdAt: UnixTime) {
      self.email = email
      self.roles = roles
      self.keyIDs = keyIDs
      self.disabled = disabled
      self.createdAt = createdAt
    }
  }

  public var accounts: [Entry]

  public init(accounts: [Entry]) {
    self.accounts = accounts
  }
}
