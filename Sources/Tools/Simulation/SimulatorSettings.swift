public import CountersignTelemetry

/// What a simulator is made with.
public struct SimulatorSettings: Sendable {
  /// The address to listen on.
  public var host = "127.0.0.1"
  /// The port; 0 for any that is free.
  public var port: UInt16 = 0
  /// The account of the Messages API.
  public var accountSID = "AC00000000000000000000000000000001"
  /// Its auth token.
  public var authToken = Secret("simulated-auth-token")
  /// An API key of the account, which sends in the place of the account itself.
  public var apiKeySID = "SK00000000000000000000000000000001"
  /// Its secret.
  public var apiKeySecret = Secret("simulated-api-key-secret")
  /// Whether Twilio, Vonage and MessageBird take an address of this machine or of a private network for their reports, as no real one
  /// does.
  public var allowsLocalCallbacks = false
  /// The secrets of the webhook, `whsec_…`, any of which may sign; separated by white space.
  public var webhookSecret = Secret("whsec_c2ltdWxhdGVkLXdlYmhvb2stc2VjcmV0")
  /// Vonage's SMS API.
  public var vonage = VonageSettings()
  /// MessageBird's REST API.
  public var messageBird = MessageBirdSettings()
  /// AWS End User Messaging.
  public var aws = AWSMessagingSettings()
  /// The SMPP server; none, if `nil`.
  public var smpp: SMPPServerSettings?
  /// Messages that are kept, and as many pushes and revocations; beyond it the oldest are forgotten. One takes about 400 bytes.
  public var maxMessages = 200_000
  /// How far the timestamp of a webhook may be from the time here.
  public var timestampTolerance = Duration.seconds(300)
  /// Apple's push service.
  public var apns = APNsSettings()
  /// reCAPTCHA.
  public var recaptcha = RecaptchaSettings()
  /// Sign in with Apple.
  public var appleID = AppleIDSettings()

  /// The settings of a test: any free port, the secrets above.
  public init() {}
}
