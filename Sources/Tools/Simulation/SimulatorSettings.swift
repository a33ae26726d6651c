public import CountersignTelemetry

/// Accounts, keys and limits of a simulator.
public struct SimulatorSettings: Sendable {
  /// Address to listen on.
  public var host = "127.0.0.1"
  /// Port. 0 for any free one.
  public var port: UInt16 = 0
  /// Account of the Messages API.
  public var accountSID = "AC00000000000000000000000000000001"
  /// Auth token of the account.
  public var authToken = Secret("simulated-auth-token")
  /// API key of the account, which can send instead of the account itself.
  public var apiKeySID = "SK00000000000000000000000000000001"
  /// Secret of the API key.
  public var apiKeySecret = Secret("simulated-api-key-secret")
  /// Whether Twilio, Vonage and MessageBird accept addresses of this machine or of a private network for their reports,
  /// which no real one does.
  public var allowsLocalCallbacks = false
  /// Secrets of the webhook, `whsec_…`, any of which may sign. Separated by white space.
  public var webhookSecret = Secret("whsec_c2ltdWxhdGVkLXdlYmhvb2stc2VjcmV0")
  /// Vonage's SMS API.
  public var vonage = SimulatedVonageSettings()
  /// MessageBird's REST API.
  public var messageBird = SimulatedMessageBirdSettings()
  /// AWS End User Messaging.
  public var aws = AWSMessagingSettings()
  /// SMPP server. `nil` means none.
  public var smpp: SMPPServerSettings?
  /// Maximum number of messages kept, and of pushes and revocations. The oldest are forgotten. One takes about 400
  /// bytes.
  public var maxMessages = 200_000
  /// Maximum difference of a webhook's timestamp from the current time.
  public var timestampTolerance = Duration.seconds(300)
  /// Apple's push service.
  public var apns = SimulatedAPNsSettings()
  /// reCAPTCHA.
  public var recaptcha = SimulatedRecaptchaSettings()
  /// Sign in with Apple.
  public var appleID = AppleIDSettings()

  /// Settings for tests: any free port, fixed secrets.
  public init() {}
}

/// Team, keys and apps of the simulated APNs.
public struct SimulatedAPNsSettings: Sendable {
  /// Team that sends.
  public var teamID = "EXAMPLE001"
  /// Keys of the team (P-256, PEM) by key ID. Either half will do.
  public var keys: [String: Secret] = [:]
  /// Apps of the team, by bundle ID.
  public var topics: Set<String> = []

  /// Settings without keys, with which every push is refused.
  public init() {}
}

/// Simulated account at AWS End User Messaging.
public struct AWSMessagingSettings: Sendable {
  /// ID of the access key.
  public var accessKeyID = "AKIDSIMULATED00001"
  /// Key that signs requests.
  public var secretKey = Secret("simulated-secret-access-key")
  /// Session token that a temporary access key requires.
  public var sessionToken: Secret?
  /// Region that requests must be signed for.
  public var region = "eu-central-1"
  /// Numbers, sender IDs and pools of the account.
  public var originationIdentities: Set<String> = ["Example", "+15005550006"]

  /// Settings for tests.
  public init() {}
}

/// Clients that the simulated Apple ID service knows.
public struct AppleIDSettings: Sendable {
  /// Team of the clients: `iss` of a client secret.
  public var teamID = "EXAMPLE001"
  /// Keys of the team (P-256, PEM) by key ID. Either half will do.
  public var keys: [String: Secret] = [:]
  /// Bundle IDs and Services IDs: `sub` of a client secret.
  public var clientIDs: Set<String> = []
  /// `aud` of a client secret.
  public var audience = "https://appleid.apple.com"

  /// Settings without clients, with which every request is refused.
  public init() {}
}

/// Simulated account at MessageBird.
public struct SimulatedMessageBirdSettings: Sendable {
  /// Access key for sending.
  public var accessKey = Secret("live_simulated_access_key")
  /// Key that signs status reports.
  public var signingKey = Secret("simulated-signing-key")
}

/// Project and keys of the simulated reCAPTCHA.
public struct SimulatedRecaptchaSettings: Sendable {
  /// Project of reCAPTCHA Enterprise.
  public var project = "example-project"
  /// API key of the project.
  public var apiKey = Secret("simulated-recaptcha-api-key")
  /// Key file of the service account, as Google issues it (JSON). Without one no access token is issued.
  public var serviceAccount: Secret?
  /// Keys of sites and apps: key ID, and the app's bundle ID or the site's host.
  public var siteKeys: [String: String] = [:]
  /// Whether the project has SMS defense, which adds the risk of toll fraud to assessments with a phone number.
  public var assessesPhoneFraud = false
  /// Secret of `siteverify`.
  public var secret = Secret("simulated-recaptcha-secret")
  /// Host that `siteverify` reports as the challenge's.
  public var hostname = "example.com"

  /// Settings without site keys, with which every assessment fails.
  public init() {}
}

/// Simulated SMPP 3.4 server with one account.
public struct SMPPServerSettings: Sendable {
  /// Port. 0 for any free one.
  public var port: UInt16 = 0
  /// Name of the account.
  public var systemID = "simulated"
  /// Password of the account, at most 8 bytes.
  public var password = Secret("password")
  /// Required value of `system_type`.
  public var systemType = ""
  /// Maximum number of submissions of a session in progress. Further ones are throttled.
  public var window = 100
  /// Maximum number of submissions a second. Further ones are throttled.
  public var ratePerSecond: Int?

  /// Settings for tests.
  public init() {}
}

/// Simulated account at Vonage.
public struct SimulatedVonageSettings: Sendable {
  /// Account key.
  public var apiKey = "abcd1234"
  /// Secret for sending.
  public var apiSecret = Secret("simulated-api-secret")
  /// Secret that signs delivery reports.
  public var signatureSecret = Secret("simulated-signature-secret")
}
