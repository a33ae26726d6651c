public import CountersignTelemetry

/// Job `recaptcha.assess`: assesses a reCAPTCHA token.
public struct RecaptchaAssessJob: Job, Hashable {
  public static let type = MessageType("recaptcha.assess")

  /// Bundle ID of the app.
  public var app: String
  /// Token from reCAPTCHA, valid for one assessment. Sealed, its recipient is the app.
  public var token: SecretField
  /// Action that the app named to reCAPTCHA.
  public var expectedAction: String
  /// Client that asks, as far as the sender knows it.
  public var client: Client?
  /// E.164. ReCAPTCHA judges its risk of toll fraud.
  public var phoneNumber: String?
  /// Latest time to assess it.
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

  /// Client that asks.
  public struct Client: Codable, Sendable, Hashable {
    public var ip: String?
    public var userAgent: String?

    public init(ip: String? = nil, userAgent: String? = nil) {
      self.ip = ip
      self.userAgent = userAgent
    }
  }
}
