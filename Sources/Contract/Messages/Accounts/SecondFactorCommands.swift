public import CountersignTelemetry

/// Kind of a second factor.
public enum SecondFactorKind: String, ContractWord {
  /// A code that is sent to a number by SMS.
  case phone
  /// A code that the user's device computes from a shared secret (RFC 6238).
  case totp
}

/// A second factor of an account.
public struct SecondFactorView: Codable, Sendable, Hashable {
  public var enrollmentID: String
  public var kind: SecondFactorKind
  public var displayName: String?
  /// E.164. Masked before the second factor is given: `+*******0100`.
  public var phoneNumber: String?
  public var enrolledAt: UnixTime

  public init(enrollmentID: String, kind: SecondFactorKind, enrolledAt: UnixTime) {
    self.enrollmentID = enrollmentID
    self.kind = kind
    self.enrolledAt = enrolledAt
  }
}

/// Command `account.startSecondFactor`: sends a code to a number that is to become a second factor, or that is one, or
/// makes the shared secret of a TOTP factor.
public struct StartSecondFactor: SecretReplyCommand {
  public typealias Reply = SecondFactorStarted
  public static let type = MessageType("account.startSecondFactor")

  public var project: String
  /// ID of the app at the coordinator, which has to be one of the project. Required with ``SecondFactorKind/phone``.
  public var app: String?
  public var kind: SecondFactorKind
  /// ID token of a signed-in user, to enrol.
  public var idToken: SecretField?
  /// Answer of a first factor, to sign in. With ``enrollmentID``.
  public var pendingCredential: SecretField?
  /// Second factor of the account.
  public var enrollmentID: String?
  /// E.164, of a number that is to be enrolled.
  public var phoneNumber: String?
  /// Proof that the request comes from the app. Its secrets are sealed to accounts.
  public var proof: StartVerification.Proof?
  /// Whether only a fictional number is accepted.
  public var fictionalOnly: Bool?
  /// Language of the SMS, BCP 47.
  public var languageCode: String?
  public var client: StartVerification.Client?
  /// Public key for the secrets of the reply.
  public var replyKey: String

  public init(project: String, kind: SecondFactorKind, replyKey: String) {
    self.project = project
    self.kind = kind
    self.replyKey = replyKey
  }
}

/// Reply to `account.startSecondFactor`.
public struct SecondFactorStarted: MessageBody, Hashable {
  public static let type = MessageType("account.secondFactorStarted")

  /// The verification, of a number. Its number is masked where the factor is one that stands.
  public var verification: VerificationStarted?
  /// ``SharedSecret`` as JSON, of a TOTP factor.
  public var sharedSecret: SecretField?

  public init() {}
}

/// Shared secret of a TOTP factor that is not enrolled yet.
public struct SharedSecret: SealedText, Hashable {
  /// The secret in Base32 (RFC 4648) without padding.
  public var key: String
  /// Stands for the secret when its first code is given back.
  public var sessionInfo: String
  /// Digits of a code.
  public var codeLength: Int
  /// Seconds for which a code is shown.
  public var period: Int
  /// Time until which the factor can be enrolled.
  public var expiresAt: UnixTime

  public init(key: String, sessionInfo: String, codeLength: Int, period: Int, expiresAt: UnixTime) {
    self.key = key
    self.sessionInfo = sessionInfo
    self.codeLength = codeLength
    self.period = period
    self.expiresAt = expiresAt
  }
}

/// Command `account.finishSecondFactor`: enrols a second factor by its first code, or signs in with one.
public struct FinishSecondFactor: SecretReplyCommand {
  public typealias Reply = AccountSignedIn
  public static let type = MessageType("account.finishSecondFactor")

  public var project: String
  /// ID of the app at the coordinator, which has to be one of the project. Required with ``SecondFactorKind/phone``.
  public var app: String?
  public var kind: SecondFactorKind
  /// ID token of a signed-in user, to enrol.
  public var idToken: SecretField?
  /// Answer of a first factor, to sign in.
  public var pendingCredential: SecretField?
  /// TOTP factor to sign in with. The code of a number names its factor itself.
  public var enrollmentID: String?
  /// Verification ID, or ``SharedSecret/sessionInfo``. Absent when a TOTP factor signs in.
  public var sessionInfo: SecretField?
  /// The user's input.
  public var code: SecretField?
  /// Name of a new factor, up to 256 bytes.
  public var displayName: String?
  public var client: StartVerification.Client?
  /// Public key for the secrets of the reply.
  public var replyKey: String

  public init(project: String, kind: SecondFactorKind, replyKey: String) {
    self.project = project
    self.kind = kind
    self.replyKey = replyKey
  }
}

/// Command `account.withdrawSecondFactor`: takes a second factor from an ID token's account.
public struct WithdrawSecondFactor: SecretReplyCommand {
  public typealias Reply = AccountSignedIn
  public static let type = MessageType("account.withdrawSecondFactor")

  public var project: String
  public var idToken: SecretField
  public var enrollmentID: String
  /// Public key for the secrets of the reply.
  public var replyKey: String

  public init(project: String, idToken: SecretField, enrollmentID: String, replyKey: String) {
    self.project = project
    self.idToken = idToken
    self.enrollmentID = enrollmentID
    self.replyKey = replyKey
  }
}

/// Event `account.secondFactorEnrolled`: an account has a further second factor.
public struct SecondFactorEnrolled: Event, Hashable {
  public static let type = MessageType("account.secondFactorEnrolled")

  public var project: String
  public var localID: String
  public var enrollmentID: String
  public var kind: SecondFactorKind
  public var enrolledAt: UnixTime

  public init(project: String, localID: String, enrollmentID: String, kind: SecondFactorKind, enrolledAt: UnixTime) {
    self.project = project
    self.localID = localID
    self.enrollmentID = enrollmentID
    self.kind = kind
    self.enrolledAt = enrolledAt
  }
}

/// Event `account.secondFactorWithdrawn`: an account has a second factor less.
public struct SecondFactorWithdrawn: Event, Hashable {
  public static let type = MessageType("account.secondFactorWithdrawn")

  public var project: String
  public var localID: String
  public var enrollmentID: String
  public var kind: SecondFactorKind
  public var withdrawnAt: UnixTime

  public init(project: String, localID: String, enrollmentID: String, kind: SecondFactorKind, withdrawnAt: UnixTime) {
    self.project = project
    self.localID = localID
    self.enrollmentID = enrollmentID
    self.kind = kind
    self.withdrawnAt = withdrawnAt
  }
}
