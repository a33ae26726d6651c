/// Asks for a phone number to be verified: `verification.start`.
///
/// Asking again for the same number while a verification of it lives answers with that one.
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

  public init(
    phoneNumber: String, app: String, region: String? = nil, languageCode: String? = nil, proof: Proof? = nil,
    client: Client? = nil
  ) {
    self.phoneNumber = phoneNumber
    self.app = app
    self.region = region
    self.languageCode = languageCode
    self.proof = proof
    self.client = client
  }

  /// Either the receipt and the secret of a push, or a reCAPTCHA token. Beside the token, the receipt of a push that did not come:
  /// the timeline then says why.
  public struct Proof: Codable, Sendable, Hashable {
    public var receipt: String?
    public var secret: SecretField?
    public var recaptchaToken: SecretField?

    /// What the app was sent by push.
    public init(receipt: String, secret: SecretField) {
      self.receipt = receipt
      self.secret = secret
    }

    /// What the app got from reCAPTCHA.
    public init(recaptchaToken: SecretField) {
      self.recaptchaToken = recaptchaToken
    }
  }

  /// The client on whose behalf a service asks.
  public struct Client: Codable, Sendable, Hashable {
    /// IPv4 or IPv6.
    public var ip: String?
    public var userAgent: String?

    public init(ip: String? = nil, userAgent: String? = nil) {
      self.ip = ip
      self.userAgent = userAgent
    }
  }
}
