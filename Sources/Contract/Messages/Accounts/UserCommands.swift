public import CountersignTelemetry

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
  /// Second factors, in place of those that the account has.
  public var secondFactors: [UserSecondFactor]?
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

/// Second factor, as an administrator writes it: a number, or one that the account has.
public struct UserSecondFactor: Codable, Sendable, Hashable {
  /// Absent for a new one.
  public var enrollmentID: String?
  /// E.164. Absent for a TOTP factor that stays.
  public var phoneNumber: String?
  public var displayName: String?
  public var enrolledAt: UnixTime?

  public init(enrollmentID: String? = nil, phoneNumber: String? = nil) {
    self.enrollmentID = enrollmentID
    self.phoneNumber = phoneNumber
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
  /// Number of accounts up to there, if the command asked for that alone.
  public var count: Int?

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
  /// Whether accounts are counted rather than listed, as many as a command counts. ``limit`` has no effect then.
  public var countsOnly: Bool?

  public init(project: String, limit: Int) {
    self.project = project
    self.limit = limit
  }
}

/// Command `account.remove`, for administrators: deletes accounts, at most ``maxAccounts``. With none it checks the
/// caller.
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
