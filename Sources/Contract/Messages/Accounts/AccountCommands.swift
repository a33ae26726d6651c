import CountersignCryptography
import CountersignEncoding
public import CountersignTelemetry

/// Parts that all commands to `accounts` have. Secret fields are sealed to the public key of `accounts`
/// (``PublicSealer``); their recipient is ``AccountCommandFields/recipient``.
public enum AccountCommandFields {
  /// Context of the secrets of a command. It binds the key for the reply: with another one, a thief who gets hold of the
  /// command, a dead letter for instance, would have the tokens of the reply sealed to itself.
  /// - Parameters:
  ///   - type: type of the command.
  ///   - messageID: its `message_id`.
  ///   - replyKey: its public key for the reply; `nil` for a command without one.
  public static func context(of type: MessageType, messageID: String, replyKey: String?) -> SealContext {
    // The hash is shorter than the key, and a header's member cannot be of any length.
    let hash = replyKey.map { Base64URL.encode(SHA256.hash(Array($0.utf8))) }
    return SealContext(
      messageType: type, messageID: messageID, recipient: recipient,
      fields: [SealContext.Field("replyKey", hash, isRequired: replyKey != nil)])
  }

  /// Recipient of what is sealed for `accounts`.
  public static let recipient = "accounts"
  /// Recipient of what is sealed in a reply: the requester that sent the public key.
  public static let replyRecipient = "requester"
}

/// Command whose reply has secrets. Under the same message ID with another ``replyKey`` it is refused.
public protocol SecretReplyCommand: Command {
  /// Public key for the secrets of the reply: a JWK of type EC, curve P-256, at most 1 KiB of JSON.
  var replyKey: String { get }
}

/// Command `account.signInWithPhone`: signs in with a verified number. With an ID token, adds the number to its account
/// or changes it.
public struct SignInWithPhone: SecretReplyCommand {
  public typealias Reply = AccountSignedIn
  public static let type = MessageType("account.signInWithPhone")

  /// Effect that the client asks for. ``unspecified`` decides by the ID token.
  public enum Operation: String, ContractWord {
    case unspecified, signUpOrIn, reauthenticate, link, update
  }

  /// ID of the project.
  public var project: String
  /// ID of the app at the coordinator. The verification has to be of this app, and the app of the project.
  public var app: String?
  /// Verification ID. With ``code``.
  public var sessionInfo: SecretField?
  /// The user's input.
  public var code: SecretField?
  /// Proof that another answer gave, in place of session and code. With ``phoneNumber``.
  public var temporaryProof: SecretField?
  /// E.164, with ``temporaryProof``.
  public var phoneNumber: String?
  /// ID token of a signed-in user.
  public var idToken: SecretField?
  public var operation: Operation?
  public var client: StartVerification.Client?
  /// Public key for the secrets of the reply: a JWK of type EC, curve P-256, at most 1 KiB of JSON.
  public var replyKey: String

  public init(project: String, replyKey: String) {
    self.project = project
    self.replyKey = replyKey
  }
}

/// Command `account.signUp`: makes an anonymous account, or one with a password. With an ID token, adds a password to its
/// account.
public struct SignUp: SecretReplyCommand {
  public typealias Reply = AccountSignedIn
  public static let type = MessageType("account.signUp")

  public var project: String
  /// ID of the app at the coordinator, which has to be one of the project.
  public var app: String?
  /// ``PasswordCredential`` as JSON. Absent for an anonymous account.
  public var credential: SecretField?
  /// ID token of a signed-in user.
  public var idToken: SecretField?
  public var client: StartVerification.Client?
  /// Public key for the secrets of the reply.
  public var replyKey: String

  public init(project: String, replyKey: String) {
    self.project = project
    self.replyKey = replyKey
  }
}

/// Reply to commands that sign in: an account with tokens, or a temporary proof of a number that another account has.
public struct AccountSignedIn: MessageBody, Hashable {
  public static let type = MessageType("account.signedIn")

  /// `nil` with a temporary proof.
  public var localID: String?
  public var phoneNumber: String?
  public var isNewUser: Bool?
  public var tokens: SessionTokens?
  public var temporaryProof: SecretField?
  /// Seconds of its validity.
  public var temporaryProofExpiresIn: Int?
  /// ``SignedInIdentity`` as JSON, of a sign-in by an identity provider, a password or a link.
  public var identity: SecretField?
  /// Stands for the credential, once: Apple's tokens count once.
  public var pendingToken: SecretField?
  /// Stands for the first factor, once, until a second one is given. There are no tokens then.
  public var pendingCredential: SecretField?
  /// Second factors to choose from, with ``pendingCredential``. Their numbers are masked.
  public var secondFactors: [SecondFactorView]?
  /// Reason of a refused link or sign-in that is answered with the credential. There are no tokens then.
  public var refusal: APIErrorCode?
  /// Whether another account has the address, which the provider does not vouch for. There are no tokens then.
  public var needsConfirmation: Bool?
  /// Providers by which the user can sign in to that account.
  public var verifiedProviders: [String]?

  public init() {}
}

/// Tokens of a session, sealed to the key of the command.
public struct SessionTokens: Codable, Sendable, Hashable {
  public var idToken: SecretField
  public var refreshToken: SecretField
  /// Seconds of the ID token's validity.
  public var expiresIn: Int

  public init(idToken: SecretField, refreshToken: SecretField, expiresIn: Int) {
    self.idToken = idToken
    self.refreshToken = refreshToken
    self.expiresIn = expiresIn
  }
}

/// Command `account.lookup`: the account of an ID token.
public struct LookUpAccount: Command {
  public typealias Reply = AccountFound
  public static let type = MessageType("account.lookup")

  public var project: String
  public var idToken: SecretField

  public init(project: String, idToken: SecretField) {
    self.project = project
    self.idToken = idToken
  }
}

/// Reply to `account.lookup`.
public struct AccountFound: MessageBody, Hashable {
  public static let type = MessageType("account.found")

  public var account: AccountView

  public init(account: AccountView) {
    self.account = account
  }
}

/// An account as its user sees it.
public struct AccountView: Codable, Sendable, Hashable {
  public var localID: String
  public var displayName: String?
  public var photoURL: String?
  /// E.164.
  public var phoneNumber: String?
  public var email: String?
  public var emailVerified: Bool?
  /// Identities at providers, the oldest link first. Absent without any.
  public var identities: [IdentityView]?
  /// Time of the last change of the password. Absent without one.
  public var passwordChangedAt: UnixTime?
  /// Whether links sent to the address sign in.
  public var signsInByLink: Bool?
  /// Address of the account when it got its first one.
  public var initialEmail: String?
  /// Claims of its tokens, as the text of a JSON object.
  public var customAttributes: String?
  /// Absent without any.
  public var secondFactors: [SecondFactorView]?
  /// Consents, revoked ones included. Absent without any.
  public var consents: [ConsentView]?
  public var disabled: Bool
  public var createdAt: UnixTime
  public var lastLoginAt: UnixTime
  public var lastRefreshAt: UnixTime?
  /// Sessions from before this time are void.
  public var validSince: UnixTime

  public init(localID: String, createdAt: UnixTime, lastLoginAt: UnixTime, validSince: UnixTime) {
    self.localID = localID
    disabled = false
    self.createdAt = createdAt
    self.lastLoginAt = lastLoginAt
    self.validSince = validSince
  }
}

/// An identity of an account at a provider.
public struct IdentityView: Codable, Sendable, Hashable {
  /// `apple.com`.
  public var providerID: String
  /// The provider's ID of the user.
  public var subject: String
  public var email: String?
  public var displayName: String?
  public var photoURL: String?
  public var linkedAt: UnixTime

  public init(providerID: String, subject: String, linkedAt: UnixTime) {
    self.providerID = providerID
    self.subject = subject
    self.linkedAt = linkedAt
  }
}

/// Command `account.update`: changes profile, address or password of an ID token's account, or unlinks a provider.
public struct UpdateAccount: Command {
  public typealias Reply = AccountChanged
  public static let type = MessageType("account.update")

  public var project: String
  public var idToken: SecretField
  /// New name. Empty removes it.
  public var displayName: String?
  /// New address. Empty removes it.
  public var photoURL: String?
  /// New address and password: ``PasswordCredential`` as JSON.
  public var credential: SecretField?
  /// `DISPLAY_NAME`, `PHOTO_URL`, `EMAIL`, `PASSWORD`.
  public var deleteAttributes: [String]?
  /// Providers to unlink: `apple.com`. `phone` takes the number, `password` the address and the password.
  public var deleteProviders: [String]?
  public var client: StartVerification.Client?
  /// Public key for the tokens of the reply. Required with ``credential``.
  public var replyKey: String?

  public init(project: String, idToken: SecretField) {
    self.project = project
    self.idToken = idToken
  }
}

/// Reply to `account.update`.
public struct AccountChanged: MessageBody, Hashable {
  public static let type = MessageType("account.changed")

  public var account: AccountView
  /// Tokens of the session, after a change of address or password.
  public var tokens: SessionTokens?

  public init(account: AccountView) {
    self.account = account
  }
}

/// Command `account.delete`: deletes an ID token's account.
public struct DeleteAccount: Command {
  public typealias Reply = AccountDeleted
  public static let type = MessageType("account.delete")

  public var project: String
  public var idToken: SecretField

  public init(project: String, idToken: SecretField) {
    self.project = project
    self.idToken = idToken
  }
}

/// Command `session.refresh`: a new ID token for a refresh token.
public struct RefreshSession: SecretReplyCommand {
  public typealias Reply = SessionRefreshed
  public static let type = MessageType("session.refresh")

  public var project: String
  public var refreshToken: SecretField
  /// Public key for the secrets of the reply.
  public var replyKey: String

  public init(project: String, refreshToken: SecretField, replyKey: String) {
    self.project = project
    self.refreshToken = refreshToken
    self.replyKey = replyKey
  }
}

/// Reply to `session.refresh`.
public struct SessionRefreshed: MessageBody, Hashable {
  public static let type = MessageType("session.refreshed")

  public var localID: String
  public var tokens: SessionTokens

  public init(localID: String, tokens: SessionTokens) {
    self.localID = localID
    self.tokens = tokens
  }
}

/// Command `keys.get`: the public keys that ID tokens are checked by.
public struct GetKeys: Command {
  public typealias Reply = KeysPublished
  public static let type = MessageType("keys.get")

  public init() {}
}

/// Command `keys.rotate`, for operators: makes the next key for ID tokens before its time.
public struct RotateKeys: Command {
  public typealias Reply = KeysRotated
  public static let type = MessageType("keys.rotate")

  /// Whether the new key signs at once, and all others are deleted: somebody else may have one of them. Otherwise it is
  /// published first, and the others stay until what they have signed has expired.
  public var withdraw: Bool

  public init(withdraw: Bool) {
    self.withdraw = withdraw
  }
}

/// Reply to `keys.rotate`.
public struct KeysRotated: MessageBody, Hashable {
  public static let type = MessageType("keys.rotated")

  /// `kid` of the key that signs next.
  public var key: String
  public var signsFrom: UnixTime
  /// `kid` of each key that was deleted.
  public var withdrawn: [String]

  public init(key: String, signsFrom: UnixTime, withdrawn: [String]) {
    self.key = key
    self.signsFrom = signsFrom
    self.withdrawn = withdrawn
  }
}

/// Command `account.reset`, in development only: deletes all accounts of a project.
public struct ResetAccounts: Command {
  public typealias Reply = AccountsReset
  public static let type = MessageType("account.reset")

  public var project: String

  public init(project: String) {
    self.project = project
  }
}

/// Reply to `account.reset`.
public struct AccountsReset: MessageBody, Hashable {
  public static let type = MessageType("account.resetDone")

  /// Accounts that were deleted.
  public var deleted: Int

  public init(deleted: Int) {
    self.deleted = deleted
  }
}
