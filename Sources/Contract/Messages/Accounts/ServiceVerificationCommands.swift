/// Command `account.startVerification`, for administrators: has a number verified for a service, without an account. Its
/// purpose is ``VerificationPurpose/verification``.
///
/// The same service account, asking again for the same ``client``, receives the same verification ID.
public struct StartServiceVerification: AdministratorCommand {
  public typealias Reply = VerificationStarted
  public static let type = MessageType("account.startVerification")
  /// Maximum bytes of an idempotency key, of printable ASCII characters: a UUID fits several times.
  public static let maxIdempotencyKeyBytes = 255

  public var project: String
  public var bearer: SecretField?
  /// The service's key of the request: repeated by the service account with the same content, it has one effect and one
  /// answer.
  public var idempotencyKey: String?
  /// ID of the app at the coordinator, which has to be one of the project.
  public var app: String
  /// E.164, or a national number if ``region`` is given.
  public var phoneNumber: String
  /// ISO 3166-1 alpha-2, for a number that is not E.164.
  public var region: String?
  /// Language of the SMS, BCP 47.
  public var languageCode: String?
  /// The user's client, if the service tells it, for the limits per address.
  public var client: StartVerification.Client?

  public init(project: String, app: String, phoneNumber: String) {
    self.project = project
    self.app = app
    self.phoneNumber = phoneNumber
  }
}

/// Command `account.checkVerification`, for administrators: checks the code of a verification that the same service
/// account has started.
public struct CheckServiceVerification: AdministratorCommand {
  public typealias Reply = VerificationApproved
  public static let type = MessageType("account.checkVerification")

  public var project: String
  public var bearer: SecretField?
  /// See ``StartServiceVerification/idempotencyKey``.
  public var idempotencyKey: String?
  public var verificationID: String
  /// Expected app of the verification. Absent, it is not compared.
  public var app: String?
  /// The user's input.
  public var code: SecretField
  /// The user's client, if the service tells it, for the limits per address.
  public var client: StartVerification.Client?

  public init(project: String, verificationID: String, code: SecretField) {
    self.project = project
    self.verificationID = verificationID
    self.code = code
  }
}

/// Command `account.getVerification`, for administrators: reads the state and the timeline of a verification that the
/// same service account has started.
public struct GetServiceVerification: AdministratorCommand {
  public typealias Reply = VerificationStatus
  public static let type = MessageType("account.getVerification")

  public var project: String
  public var bearer: SecretField?
  public var verificationID: String
  /// Expected app of the verification. Absent, it is not compared.
  public var app: String?

  public init(project: String, verificationID: String) {
    self.project = project
    self.verificationID = verificationID
  }
}

/// Command `account.cancelVerification`, for administrators: cancels a verification that the same service account has
/// started. Its code is no longer accepted.
public struct CancelServiceVerification: AdministratorCommand {
  public typealias Reply = VerificationCanceled
  public static let type = MessageType("account.cancelVerification")

  public var project: String
  public var bearer: SecretField?
  /// See ``StartServiceVerification/idempotencyKey``.
  public var idempotencyKey: String?
  public var verificationID: String
  /// Expected app of the verification. Absent, it is not compared.
  public var app: String?

  public init(project: String, verificationID: String) {
    self.project = project
    self.verificationID = verificationID
  }
}
