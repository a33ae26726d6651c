import CountersignEncoding
public import CountersignTelemetry

/// Command `verification.check`: checks a code.
public struct CheckVerification: Command {
  public typealias Reply = VerificationApproved
  public static let type = MessageType("verification.check")

  public var verificationID: String
  /// The user's input. Sealed, its recipient is the verification ID.
  public var code: SecretField
  /// Expected app of the verification. A verification of another app, purpose or subject is refused before anything is
  /// counted. Absent, it is not compared.
  public var app: String?
  public var purpose: VerificationPurpose?
  public var subject: String?
  /// Client, for the limits per address.
  public var client: StartVerification.Client?

  public init(
    verificationID: String, code: SecretField, app: String? = nil, purpose: VerificationPurpose? = nil,
    subject: String? = nil, client: StartVerification.Client? = nil
  ) {
    self.verificationID = verificationID
    self.code = code
    self.app = app
    self.purpose = purpose
    self.subject = subject
    self.client = client
  }
}

/// Reply to `verification.check` and event `verification.approved`: the number is proven.
///
/// A service that acts on it compares all fields with its request: another service may have started the verification,
/// for another app or subject.
public struct VerificationApproved: Event, Hashable {
  public static let type = MessageType("verification.approved")

  public var verificationID: String
  public var app: String
  /// E.164.
  public var phoneNumber: String
  public var approvedAt: UnixTime
  public var purpose: VerificationPurpose
  /// Subject, if the purpose has one.
  public var subject: String?
  /// Whether the number is one of the app's fictional numbers, whose fixed code proves nothing.
  public var testNumber: Bool

  public init(
    verificationID: String, app: String, phoneNumber: String, approvedAt: UnixTime,
    purpose: VerificationPurpose = .signIn, subject: String? = nil, testNumber: Bool = false
  ) {
    self.verificationID = verificationID
    self.app = app
    self.phoneNumber = phoneNumber
    self.approvedAt = approvedAt
    self.purpose = purpose
    self.subject = subject
    self.testNumber = testNumber
  }
}

// MARK: - Reading and writing without the decoder and the encoder

extension CheckVerification {
  public init(json: [UInt8]) throws(ContractProblem) {
    self = try ContractJSON.decode(Self.self, from: json) { Self($0) }
  }

  /// `nil`: the decoder has to name the problem.
  init?(_ json: PlainJSON) {
    guard let id = json.text("verificationID"), let code = json.text("code"), json.areTextsOrAbsent("app", "subject"),
      let purpose = VerificationPurpose.read(json), let client = StartVerification.Client.read(json)
    else { return nil }
    self.init(
      verificationID: id, code: SecretField(text: code), app: json.text("app"), purpose: purpose.value,
      subject: json.text("subject"), client: client.value)
  }
}

extension VerificationApproved {
  /// The body in JSON, written without the encoder. See ``JSONObjectWriter``.
  package var fastJSON: [UInt8] {
    var text = JSONObjectWriter()
    text.put("verificationID", verificationID)
    text.put("app", app)
    text.put("phoneNumber", phoneNumber)
    text.put("approvedAt", approvedAt)
    text.put("purpose", purpose.rawValue)
    text.put("subject", subject)
    text.put("testNumber", testNumber)
    return text.finished()
  }
}
