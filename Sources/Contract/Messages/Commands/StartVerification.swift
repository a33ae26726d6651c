import CountersignEncoding
public import CountersignTelemetry

/// Command `verification.start`: starts the verification of a phone number.
///
/// A verification is identified by app, number, purpose and subject. The same requester, asking again, receives the
/// same verification ID; another requester receives an ID of its own for the same code.
public struct StartVerification: Command {
  public typealias Reply = VerificationStarted
  public static let type = MessageType("verification.start")

  /// E.164, or a national number if ``region`` is given.
  public var phoneNumber: String
  /// Bundle ID of the app whose user holds the number.
  public var app: String
  /// ISO 3166-1 alpha-2, for a number that is not E.164.
  public var region: String?
  /// Language of the SMS, BCP 47.
  public var languageCode: String?
  /// Proof that the request comes from the app.
  public var proof: Proof?
  /// Client that asks, for the limits per address.
  public var client: Client?
  /// Purpose of the code. ``VerificationPurpose/signIn`` if absent.
  public var purpose: VerificationPurpose?
  /// Opaque subject: an account, an account and its enrollment, or a service. Required by all purposes but
  /// ``VerificationPurpose/signIn``, which refuses it.
  public var subject: String?
  /// Opaque requester. Absent, it is the device of the proof, else ``client``, else the common anonymous requester.
  public var requester: String?
  /// Whether only a fictional number is accepted: the client has no proof that its service takes for any other.
  public var fictionalOnly: Bool?

  /// Maximum bytes of ``subject``: two IDs of 36 characters and a separator fit.
  public static let maxSubjectBytes = 128
  /// Maximum bytes of ``requester``: a hash in hexadecimal fits.
  public static let maxRequesterBytes = 128

  /// Creates the command for a number in E.164. For a national number, set ``region``.
  public init(
    phoneNumber: String, app: String, languageCode: String? = nil, proof: Proof? = nil, client: Client? = nil,
    purpose: VerificationPurpose? = nil, subject: String? = nil, requester: String? = nil
  ) {
    self.phoneNumber = phoneNumber
    self.app = app
    self.languageCode = languageCode
    self.proof = proof
    self.client = client
    self.purpose = purpose
    self.subject = subject
    self.requester = requester
  }

  /// Either the receipt and the secret of a push, or a reCAPTCHA token. A token may come with the receipt of a push
  /// that did not arrive; the timeline then gives the reason.
  public struct Proof: Codable, Sendable, Hashable {
    public var receipt: String?
    public var secret: SecretField?
    public var recaptchaToken: SecretField?
    /// Action that the app named to reCAPTCHA. That of the app's configuration if absent.
    public var recaptchaAction: String?

    /// Maximum bytes of ``recaptchaAction``, as in reCAPTCHA itself.
    public static let maxActionBytes = 100

    /// Proof by push.
    public init(receipt: String, secret: SecretField) {
      self.receipt = receipt
      self.secret = secret
    }

    /// Proof by reCAPTCHA.
    public init(recaptchaToken: SecretField, action: String? = nil) {
      self.recaptchaToken = recaptchaToken
      recaptchaAction = action
    }
  }

  /// Client on whose behalf a service asks.
  public struct Client: Codable, Sendable, Hashable {
    /// IPv4 or IPv6.
    public var ip: String?
    public var userAgent: String?
    /// Mark that distinguishes the clients behind one address: bundle ID or origin, and user agent. Only its keyed hash
    /// is kept.
    public var instance: String?

    /// Maximum bytes of ``instance``: a user agent of several hundred, and a bundle ID or an origin.
    public static let maxInstanceBytes = 512

    public init(ip: String? = nil, userAgent: String? = nil, instance: String? = nil) {
      self.ip = ip
      self.userAgent = userAgent
      self.instance = instance
    }
  }
}

/// Purpose of a verification: a code sent for one purpose is refused for every other.
public enum VerificationPurpose: String, ContractWord {
  /// Signing in, linking, changing a number and reauthenticating: the protocols in use do not distinguish them when the
  /// code is sent.
  case signIn
  /// Adding the number to an account as a second factor. Has a subject.
  case secondFactorEnrollment
  /// Signing in with the number as the second factor. Has a subject.
  case secondFactorSignIn
  /// Verifying a number for a service over HTTP, which signs no user in. Has a subject: the service account.
  case verification

  /// Whether a verification of this purpose has a subject. Others must not.
  public var hasSubject: Bool { self != .signIn }

  /// Whether the number is a second factor of an account.
  package var isSecondFactor: Bool { self == .secondFactorEnrollment || self == .secondFactorSignIn }

  /// The purpose as replies and events carry it, which omit ``signIn``.
  public var unlessSignIn: VerificationPurpose? { self == .signIn ? nil : self }
}

/// Reply to `verification.start` and event `verification.started`: a verification is running.
public struct VerificationStarted: Event, Hashable {
  public static let type = MessageType("verification.started")

  public var verificationID: String
  public var app: String
  /// E.164, even if the command had a national number.
  public var phoneNumber: String
  /// Digits of the code.
  public var codeLength: Int
  /// End of the code's validity.
  public var expiresAt: UnixTime
  /// Seconds until another start sends the code again. 0 if it would now. A limit extends it.
  public var resendAfter: Int
  /// Whether the verification was already running and this request sent its code again.
  public var resent: Bool
  /// Whether the number is one of the app's fictional numbers, which receive no SMS.
  public var testNumber: Bool
  /// Absent if it is ``VerificationPurpose/signIn``.
  public var purpose: VerificationPurpose?

  /// Creates the reply for signing in. For another purpose, set ``purpose``.
  public init(
    verificationID: String, app: String, phoneNumber: String, codeLength: Int, expiresAt: UnixTime, resendAfter: Int,
    resent: Bool, testNumber: Bool
  ) {
    self.verificationID = verificationID
    self.app = app
    self.phoneNumber = phoneNumber
    self.codeLength = codeLength
    self.expiresAt = expiresAt
    self.resendAfter = resendAfter
    self.resent = resent
    self.testNumber = testNumber
  }
}

// MARK: - Reading and writing without the decoder and the encoder

extension StartVerification {
  public init(json: [UInt8]) throws(ContractProblem) {
    self = try ContractJSON.decode(Self.self, from: json) { Self($0) }
  }

  /// `nil`: the decoder has to name the problem, or the body has a proof or says that it lacks one, which is read by
  /// the decoder only.
  init?(_ json: PlainJSON) {
    guard json.areTextsOrAbsent("region", "languageCode", "subject", "requester"), !json.has("proof"),
      !json.has("fictionalOnly"),
      let number = json.text("phoneNumber"), let app = json.text("app"),
      let purpose = VerificationPurpose.read(json), let client = Client.read(json)
    else { return nil }
    self.init(
      phoneNumber: number, app: app, languageCode: json.text("languageCode"), client: client.value,
      purpose: purpose.value, subject: json.text("subject"), requester: json.text("requester"))
    region = json.text("region")
  }
}

struct OptionalField<Value> {
  var value: Value?
}

extension VerificationPurpose {
  /// `nil`: the decoder has to name the problem.
  static func read(_ json: PlainJSON) -> OptionalField<Self>? {
    guard json.has("purpose") else { return OptionalField(value: nil) }
    return json.text("purpose").flatMap(Self.init(rawValue:)).map { OptionalField(value: $0) }
  }
}

extension StartVerification.Client {
  /// `nil`: the decoder has to name the problem.
  static func read(_ json: PlainJSON) -> OptionalField<Self>? {
    guard json.has("client") else { return OptionalField(value: nil) }
    guard let client = json.object("client"), client.areTextsOrAbsent("ip", "userAgent", "instance") else { return nil }
    return OptionalField(
      value: Self(ip: client.text("ip"), userAgent: client.text("userAgent"), instance: client.text("instance")))
  }
}

extension VerificationStarted {
  /// The body in JSON, written without the encoder. See ``JSONObjectWriter``.
  package var fastJSON: [UInt8] {
    var text = JSONObjectWriter()
    text.put("verificationID", verificationID)
    text.put("app", app)
    text.put("phoneNumber", phoneNumber)
    text.put("codeLength", codeLength)
    text.put("expiresAt", expiresAt)
    text.put("resendAfter", resendAfter)
    text.put("resent", resent)
    text.put("testNumber", testNumber)
    text.put("purpose", purpose?.rawValue)
    return text.finished()
  }
}
