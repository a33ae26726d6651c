public import CountersignTelemetry

/// Asks for a reCAPTCHA token to be assessed: `recaptcha.assess`.
public struct RecaptchaAssessJob: Job, Hashable {
  public static let type = MessageType("recaptcha.assess")

  /// The app's bundle ID.
  public var app: String
  /// What the app got from reCAPTCHA; good for one assessment. Sealed, its recipient is the app.
  public var token: SecretField
  /// What the user was about to do, as the app told reCAPTCHA.
  public var expectedAction: String
  /// Who asks, as far as the sender knows.
  public var client: Client?
  /// E.164; lets reCAPTCHA judge the risk of toll fraud.
  public var phoneNumber: String?
  /// It is not assessed after this time.
  public var deadline: UnixTime

  public init(
    app: String, token: SecretField, expectedAction: String, client: Client? = nil, phoneNumber: String? = nil,
    deadline: UnixTime
  ) {
    self.app = app
    self.token = token
    self.expectedAction = expectedAction
    self.client = client
    self.phoneNumber = phoneNumber
    self.deadline = deadline
  }

  /// Who asks.
  public struct Client: Codable, Sendable, Hashable {
    public var ip: String?
    public var userAgent: String?

    public init(ip: String? = nil, userAgent: String? = nil) {
      self.ip = ip
      self.userAgent = userAgent
    }
  }
}
