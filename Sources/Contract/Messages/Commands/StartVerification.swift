/// Asks for a phone number to be verified: `verification.start`.
///
/// A verification lives for its app, number, purpose and subject. The same requester, asking again, gets the same verification ID;
/// another one an ID of its own for the same code.
public struct StartVerification: Command {
  public typealias Reply = VerificationStarted
  public static let type = MessageType("verification.start")

  /// E.164, or a national number when ``region`` is given.
  public var phoneNumber: String
  /// The app whose user holds the number: its bundle ID.
  public var app: String
  /// ISO 3166-1 alpha-2, for a number that is not E.164.
  public var region: String?
  /// The language of the message, BCP 47.
  public var languageCode: String?
  /// Proof that the request comes from the app.
  public var proof: Proof?
  /// Who asks, for the limits per address.
  public var client: Client?
  /// Purpose of the code; ``VerificationPurpose/signIn`` if absent.
  public var purpose: VerificationPurpose?
  /// For whom, opaque: an account, or an account and its enrollment. Needed by the purposes of second factors, refused with the other.
  public var subject: String?
  /// Requester, opaque. Absent, it is the device of the proof, else ``client``, else nobody in particular.
  public var requester: String?

  /// Bytes of ``subject``: room for two IDs of 36 characters and what joins them.
  public static let maxSubjectBytes = 128
  /// Bytes of ``requester``: room for a hash in hexadecimal.
  public static let maxRequesterBytes = 128

  public init(
    phoneNumber: String, app: String, region: String? = nil, languageCode: String? = nil, proof: Proof? = nil,
    client: Client? = nil, purpose: VerificationPurpose? = nil, subject: String? = nil, requester: String? = nil
  ) {
    self.phoneNumber = phoneNumber
    self.app = app
    self.region = region
    self.languageCode = languageCode
    self.proof = proof
    self.client = client
    self.purpose = purpose
    self.subject = subject
    self.requester = requester
  }

  /// Either the receipt and the secret of a push, or a reCAPTCHA token. Beside the token, the receipt of a push that did not come:
  /// the timeline then says why.
  public struct Proof: Codable, Sendable, Hashable {
    public var receipt: String?
    public var secret: SecretField?
    public var recaptchaToken: SecretField?
    /// Action: what the app told reCAPTCHA that its user is about to do; that of the app's configuration if absent.
    public var recaptchaAction: String?

    /// Bytes of ``recaptchaAction``, the most that reCAPTCHA takes.
    public static let maxActionBytes = 100

    /// What the app was sent by push.
    public init(receipt: String, secret: SecretField) {
      self.receipt = receipt
      self.secret = secret
    }

    /// What the app got from reCAPTCHA.
    public init(recaptchaToken: SecretField, action: String? = nil) {
      self.recaptchaToken = recaptchaToken
      recaptchaAction = action
    }
  }

  /// The client on whose behalf a service asks.
  public struct Client: Codable, Sendable, Hashable {
    /// IPv4 or IPv6.
    public var ip: String?
    public var userAgent: String?
    /// Mark that tells apart the clients behind one address: bundle ID or origin, and user agent. Only its keyed hash is kept.
    public var instance: String?

    /// Bytes of ``instance``: a user agent of some hundred, and a bundle ID or an origin.
    public static let maxInstanceBytes = 512

    public init(ip: String? = nil, userAgent: String? = nil, instance: String? = nil) {
      self.ip = ip
      self.userAgent = userAgent
      self.instance = instance
    }
  }
}
