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

/// Command `account.import`, for administrators: makes or replaces accounts, at most ``UserBatch/maxUsers``. With none
/// it checks the caller.
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
