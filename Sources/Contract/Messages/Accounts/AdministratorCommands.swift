public import CountersignTelemetry

/// A command of an administrator or an operator.
public protocol AdministratorCommand: Command {
  var project: String { get }
  /// Access token of a service account. Absent in commands of the broker's operators, who need none.
  var bearer: SecretField? { get }
}

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

/// Fields of a user, as an administrator writes them. In a change, absent ones stay.
public struct UserFields: SealedText, Hashable {
  /// 1 to 128 bytes. Absent in a new account, one is made up.
  public var localID: String?
  public var email: String?
  public var emailVerified: Bool?
  public var password: String?
  public var displayName: String?
  public var photoURL: String?
  /// E.164.
  public var phoneNumber: String?
  public var disabled: Bool?
  /// Claims, as the text of a JSON object of at most 1,000 characters.
  public var customAttributes: String?
  /// Sessions from before this time are void.
  public var validSince: UnixTime?
  public var createdAt: UnixTime?
  public var lastLoginAt: UnixTime?
  /// Imported hash of the password, base64.
  public var passwordHash: String?
  /// Its salt, base64.
  public var salt: String?
  /// Identities of an import, or the one that a change links.
  public var identities: [UserIdentity]?
  /// `DISPLAY_NAME`, `PHOTO_URL`, `EMAIL`, `PASSWORD`.
  public var deleteAttributes: [String]?
  /// Providers to unlink: `apple.com`, `phone`, `password`.
  public var deleteProviders: [String]?

  public init(localID: String? = nil) {
    self.localID = localID
  }
}

/// Identity at a provider, as an administrator writes it.
public struct UserIdentity: Codable, Sendable, Hashable {
  /// `apple.com`.
  public var providerID: String
  /// The provider's ID of the user.
  public var subject: String
  public var email: String?
  public var displayName: String?
  public var photoURL: String?

  public init(providerID: String, subject: String) {
    self.providerID = providerID
    self.subject = subject
  }
}

/// Command `account.create`, for administrators: makes an account, without a session.
public struct CreateAccount: AdministratorCommand {
  public typealias Reply = AccountChanged
  public static let type = MessageType("account.create")

  public var project: String
  public var bearer: SecretField?
  /// ``UserFields`` as JSON.
  public var user: SecretField

  public init(project: String, user: SecretField) {
    self.project = project
    self.user = user
  }
}

/// Command `account.change`, for administrators: changes the account of ``UserFields/localID``.
public struct ChangeAccount: AdministratorCommand {
  public typealias Reply = AccountChanged
  public static let type = MessageType("account.change")

  public var project: String
  public var bearer: SecretField?
  /// ``UserFields`` as JSON.
  public var user: SecretField

  public init(project: String, user: SecretField) {
    self.project = project
    self.user = user
  }
}

/// Accounts to find. Together at most ``maxAccounts``.
public struct AccountSelection: SealedText, Hashable {
  public static let maxAccounts = 100

  public var localIDs: [String]?
  public var emails: [String]?
  /// E.164.
  public var phoneNumbers: [String]?
  public var identities: [UserIdentity]?

  public init() {}
}

/// Command `account.find`, for administrators: accounts by ID, address, number or identity.
public struct FindAccounts: AdministratorCommand {
  public typealias Reply = AccountsFound
  public static let type = MessageType("account.find")

  public var project: String
  public var bearer: SecretField?
  /// ``AccountSelection`` as JSON.
  public var selection: SecretField

  public init(project: String, selection: SecretField) {
    self.project = project
    self.selection = selection
  }
}

/// Reply to `account.find` and `account.list`: as many as a message holds.
public struct AccountsFound: MessageBody, Hashable {
  public static let type = MessageType("account.accountsFound")

  public var accounts: [AccountView]
  /// ``PasswordHashes`` as JSON, if the command asked for them.
  public var hashes: SecretField?
  /// Place to go on from, opaque. Absent after the last account.
  public var next: String?

  public init(accounts: [AccountView]) {
    self.accounts = accounts
  }
}

/// Hashes of passwords, of the accounts of a reply.
public struct PasswordHashes: SealedText, Hashable {
  public struct Entry: Codable, Sendable, Hashable {
    public var localID: String
    /// Algorithm with its parameters, hash and salt, as a new installation of Countersign imports it.
    public var stored: String

    public init(localID: String, stored: String) {
      self.localID = localID
      self.stored = stored
    }
  }

  public var entries: [Entry]

  public init(entries: [Entry]) {
    self.entries = entries
  }
}

/// Command `account.list`, for administrators: the accounts of a project, page by page, in no order that means anything.
public struct ListAccounts: AdministratorCommand {
  public typealias Reply = AccountsFound
  public static let type = MessageType("account.list")

  public var project: String
  public var bearer: SecretField?
  /// 1 to 1,000.
  public var limit: Int
  /// ``AccountsFound/next`` of the page before.
  public var after: String?
  /// Public key for the hashes of the passwords, if they are wanted. The role `users.export` is needed then.
  public var replyKey: String?

  public init(project: String, limit: Int) {
    self.project = project
    self.limit = limit
  }
}

/// Command `account.remove`, for administrators: deletes accounts, at most ``maxAccounts``.
public struct RemoveAccounts: AdministratorCommand {
  public typealias Reply = AccountsRemoved
  public static let type = MessageType("account.remove")
  public static let maxAccounts = 100

  public var project: String
  public var bearer: SecretField?
  public var localIDs: [String]
  /// Whether accounts that are not disabled are deleted as well. Absent, they are refused.
  public var force: Bool?

  public init(project: String, localIDs: [String]) {
    self.project = project
    self.localIDs = localIDs
  }
}

/// Reply to `account.remove`.
public struct AccountsRemoved: MessageBody, Hashable {
  public static let type = MessageType("account.removed")

  public var refused: [RefusedUser]

  public init(refused: [RefusedUser]) {
    self.refused = refused
  }
}

/// A user of a batch that was refused.
public struct RefusedUser: Codable, Sendable, Hashable {
  /// Its place in the batch, from 0.
  public var index: Int
  /// Reason, for people. It repeats no value.
  public var message: String

  public init(index: Int, message: String) {
    self.index = index
    self.message = message
  }
}

/// Users to import, with what made their hashes.
public struct UserBatch: SealedText, Hashable {
  public static let maxUsers = 100

  public var users: [UserFields]
  /// Algorithm and parameters of the hashes, as ``HashParameters``. Absent without hashes.
  public var hash: HashParameters?
  /// Whether an account of the same ID stays as it is, rather than being replaced.
  public var keepsExisting: Bool?

  public init(users: [UserFields]) {
    self.users = users
  }
}

/// Algorithm and parameters of imported hashes, by the names of Google's `accounts:batchCreate`. Binary ones are base64.
public struct HashParameters: SealedText, Hashable {
  public var hashAlgorithm: String
  public var signerKey: String?
  public var saltSeparator: String?
  public var rounds: Int?
  public var memoryCost: Int?
  public var parallelization: Int?
  public var blockSize: Int?
  public var dkLen: Int?
  public var passwordHashOrder: String?
  public var argon2Parameters: Argon2?

  /// Parameters of Argon2 (RFC 9106).
  public struct Argon2: Codable, Sendable, Hashable {
    public var hashLengthBytes: Int?
    public var hashType: String?
    public var parallelism: Int?
    public var iterations: Int?
    public var memoryCostKib: Int?
    public var version: String?
    public var associatedData: String?

    public init() {}
  }

  public init(hashAlgorithm: String) {
    self.hashAlgorithm = hashAlgorithm
  }
}

/// Command `account.import`, for administrators: makes or replaces accounts, at most ``UserBatch/maxUsers``.
public struct ImportAccounts: AdministratorCommand {
  public typealias Reply = AccountsImported
  public static let type = MessageType("account.import")

  public var project: String
  public var bearer: SecretField?
  /// ``UserBatch`` as JSON.
  public var batch: SecretField

  public init(project: String, batch: SecretField) {
    self.project = project
    self.batch = batch
  }
}

/// Reply to `account.import`.
public struct AccountsImported: MessageBody, Hashable {
  public static let type = MessageType("account.imported")

  public var refused: [RefusedUser]

  public init(refused: [RefusedUser]) {
    self.refused = refused
  }
}

/// Command `session.createCookie`, for administrators: a session cookie for an ID token.
public struct CreateSessionCookie: SecretReplyCommand, AdministratorCommand {
  public typealias Reply = SessionCookieCreated
  public static let type = MessageType("session.createCookie")

  public var project: String
  public var bearer: SecretField?
  public var idToken: SecretField
  /// Seconds: 300 to 1,209,600.
  public var validFor: Int
  /// Public key for the secrets of the reply.
  public var replyKey: String

  public init(project: String, idToken: SecretField, validFor: Int, replyKey: String) {
    self.project = project
    self.idToken = idToken
    self.validFor = validFor
    self.replyKey = replyKey
  }
}

/// Reply to `session.createCookie`.
public struct SessionCookieCreated: MessageBody, Hashable {
  public static let type = MessageType("session.cookieCreated")

  public var cookie: SecretField

  public init(cookie: SecretField) {
    self.cookie = cookie
  }
}

/// Command `account.settings`, for administrators: settings of a project. It changes those that it names.
public struct ProjectSettingsCommand: AdministratorCommand {
  public typealias Reply = ProjectSettingsFound
  public static let type = MessageType("account.settings")

  public var project: String
  public var bearer: SecretField?
  /// Whether several accounts may have an address, those of providers.
  public var allowsDuplicateEmails: Bool?
  /// Whether answers conceal that an account has an address.
  public var protectsAddresses: Bool?

  public init(project: String) {
    self.project = project
  }
}

/// Reply to `account.settings`: those that hold.
public struct ProjectSettingsFound: MessageBody, Hashable {
  public static let type = MessageType("account.settingsFound")

  public var allowsDuplicateEmails: Bool
  public var protectsAddresses: Bool

  public init(allowsDuplicateEmails: Bool, protectsAddresses: Bool) {
    self.allowsDuplicateEmails = allowsDuplicateEmails
    self.protectsAddresses = protectsAddresses
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

/// Command `account.audit`, for operators: acts of administrators and operators, the latest first.
public struct ListActs: Command {
  public typealias Reply = ActsListed
  public static let type = MessageType("account.audit")

  public var project: String
  /// 1 to 200.
  public var limit: Int
  /// ``ActsListed/next`` of the page before.
  public var after: String?

  public init(project: String, limit: Int) {
    self.project = project
    self.limit = limit
  }
}

/// Reply to `account.audit`.
public struct ActsListed: MessageBody, Hashable {
  public static let type = MessageType("account.actsListed")

  public var acts: [AdministratorActed]
  /// Place to go on from, opaque. Absent after the first act.
  public var next: String?

  public init(acts: [AdministratorActed]) {
    self.acts = acts
  }
}

/// Event `account.administered`: an administrator or operator has done something.
public struct AdministratorActed: Event, Hashable {
  public static let type = MessageType("account.administered")

  public var project: String
  /// Address of the service account, or the broker's user.
  public var by: String
  /// Command without `account.`: `create`, `change`. For a list with hashes `export`, once an hour.
  public var act: String
  /// The account that it was about. Absent for a batch.
  public var localID: String?
  /// Number of accounts of a batch.
  public var count: Int?
  public var actedAt: UnixTime

  public init(project: String, by: String, act: String, actedAt: UnixTime) {
    self.project = project
    self.by = by
    self.act = act
    self.actedAt = actedAt
  }
}
